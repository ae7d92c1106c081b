"""What is measured at the query: one number an item, from its logits."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

MetricFunction = Callable[[Tensor, Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Metric:
    """A function of an item's logits, with its name.

    Attributes:
        name: as it stands in tables.
        of: `of(logits, answer, foil)` gives one value a row; `answer` and `foil` say which column
            of `logits` holds which.
        needs_vocabulary: False when the two columns suffice, so that no other is computed.
    """

    name: str
    of: MetricFunction
    needs_vocabulary: bool = True

    def __call__(
        self,
        logits: Float[Tensor, "item column"],
        answer: Int[Tensor, " item"],
        foil: Int[Tensor, " item"],
    ) -> Float[Tensor, " item"]:
        """One value an item.

        Raises:
            ValueError: the function gave something else than one finite number an item.
        """
        values = self.of(logits, answer, foil)
        if not isinstance(values, Tensor) or values.shape != (len(logits),):
            came = tuple(values.shape) if isinstance(values, Tensor) else type(values).__name__
            raise ValueError(
                f"the metric {self.name!r} gave {came}, expected one number for each of "
                f"{len(logits)} rows, a tensor of shape ({len(logits)},)."
            )
        if not torch.isfinite(values).all():
            n_bad = int((~torch.isfinite(values)).sum())
            raise ValueError(f"the metric {self.name!r} gave {n_bad} values that are not finite.")
        return values.float()


def as_metric(metric: Metric | MetricFunction) -> Metric:
    """A metric, or a plain function under its own name."""
    if isinstance(metric, Metric):
        return metric
    return Metric(name=getattr(metric, "__name__", "metric"), of=metric)


def _logit_difference(logits: Tensor, answer: Tensor, foil: Tensor) -> Tensor:
    rows = torch.arange(len(logits))
    return logits[rows, answer] - logits[rows, foil]


LOGIT_DIFFERENCE = Metric("logit_difference", _logit_difference, needs_vocabulary=False)
"""Logit of the answer minus logit of the foil: linear in logits, blind to what lifts both."""
