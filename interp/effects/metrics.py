"""What is measured at the query: one number an item, from its logits or its last state."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from interp.stats import LEAST_CONTRAST

MetricFunction = Callable[..., Any]


@dataclass(frozen=True)
class Metric:
    """A function of an item's logits, with its name.

    Attributes:
        name: as it stands in tables.
        of: `of(logits, answer, foil)` gives one value a row; `answer` and `foil` say which column
            of `logits` holds which.
        needs_vocabulary: False when the two columns suffice, so that no other is computed.
        needs_intact: `of(logits, answer, foil, intact)` is given the logits of the intact run too.
        reads: `"logits"`; `"states"`: `of` is given the last block's output at the query instead,
            which a model without a head has too; or `"words"`: that of the query, of the source
            and of the distractor (see `interp.effects.spans`), in models that read both ways.
        least_contrast: between an item and its counterfactual, for a behaviour to be there.
    """

    name: str
    of: MetricFunction
    needs_vocabulary: bool = True
    needs_intact: bool = False
    reads: Literal["logits", "states", "words"] = "logits"
    least_contrast: float = LEAST_CONTRAST

    def __call__(
        self,
        logits: Float[Tensor, "item *word column"],
        answer: Int[Tensor, " item"],
        foil: Int[Tensor, " item"],
        intact: Float[Tensor, "item *word column"] | None = None,
    ) -> Float[Tensor, " item"]:
        """One value an item.

        Raises:
            ValueError: the function gave something else than one finite number an item.
        """
        values = self.of(logits, answer, foil, *([intact] if self.needs_intact else []))
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


def as_metrics(
    metric: Metric | MetricFunction | Sequence[Metric | MetricFunction],
) -> list[Metric]:
    """One metric or several.

    Raises:
        ValueError: there is none, or two have the same name.
    """
    metrics = [as_metric(each) for each in (metric if isinstance(metric, Sequence) else [metric])]
    names = [each.name for each in metrics]
    if not metrics or len(set(names)) < len(names):
        raise ValueError(f"expected one metric or several of different names, got {names}.")
    return metrics


def _logit_difference(logits: Tensor, answer: Tensor, foil: Tensor) -> Tensor:
    return _at(logits, answer) - _at(logits, foil)


def _answer_logit(logits: Tensor, answer: Tensor, foil: Tensor) -> Tensor:
    return _at(logits, answer)


def _answer_log_probability(logits: Tensor, answer: Tensor, foil: Tensor) -> Tensor:
    return _at(logits, answer) - logits.logsumexp(-1)


def _divergence(logits: Tensor, answer: Tensor, foil: Tensor, intact: Tensor) -> Tensor:
    of_intact, of_this = intact.log_softmax(-1), logits.log_softmax(-1)
    return (of_intact.exp() * (of_intact - of_this)).sum(-1)


def _state_shift(states: Tensor, answer: Tensor, foil: Tensor, intact: Tensor) -> Tensor:
    return 1 - torch.cosine_similarity(states, intact, dim=-1)


def _representation_margin(states: Tensor, answer: Tensor, foil: Tensor) -> Tensor:
    query, source, distractor = states.unbind(1)
    to_source, to_distractor = (
        torch.cosine_similarity(query, word, dim=-1) for word in (source, distractor)
    )
    return to_source - to_distractor


def _at(logits: Tensor, column: Tensor) -> Tensor:
    return logits.gather(1, column[:, None])[:, 0]


LOGIT_DIFFERENCE = Metric("logit_difference", _logit_difference, needs_vocabulary=False)
"""Logit of the answer minus logit of the foil: linear in logits, blind to what lifts both."""

ANSWER_LOGIT = Metric("answer_logit", _answer_logit, needs_vocabulary=False)
"""Logit of the answer: also moved by what lifts every token."""

ANSWER_LOG_PROBABILITY = Metric("answer_log_probability", _answer_log_probability)
"""Log-probability of the answer, in nats: saturates where the model is sure."""

KL_DIVERGENCE = Metric("kl_divergence", _divergence, needs_intact=True)
"""KL(intact‖this run) over the vocabulary, in nats, at least 0 and 0 for the intact run.

An effect, intact less edited, is then 0 or negative. Its gradient at the intact run is 0, so it
cannot be screened for.
"""

STATE_SHIFT = Metric("state_shift", _state_shift, needs_intact=True, reads="states")
"""1 − cosine between the last state at the query and that of the intact run, 0 to 2.

For models without a head, such as sentence encoders.
"""

REPRESENTATION_MARGIN = Metric(
    "representation_margin", _representation_margin, reads="words", least_contrast=0.05
)
"""cos(query, source) − cos(query, distractor) of the last states, −2 to 2.

For models without a head: is the word that is read nearer to its source?
"""
