"""Effects of exchanges with the counterfactual, and their scale: the gap between the two runs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from interp.effects.baselines import Baseline, Resample
from interp.effects.joint import joint
from interp.effects.metrics import LOGIT_DIFFERENCE, Metric
from interp.effects.scopes import AnyScope
from interp.encode import Batch
from interp.evidence.removal import clusters_of
from interp.heads import Head
from interp.items import Item
from interp.models.model import Model
from interp.stats import Interval, mean_interval, ratio_interval

_RESAMPLE = Resample()
_ROUNDING = 1e-4
"""Of the gap: less is not told from the rounding of fp32."""


@dataclass(frozen=True, kw_only=True)
class Resampled:
    """What an exchange in each head does to each item, in the metric's unit.

    Attributes:
        items: the rows.
        effects: `intact − edited`.
        gap: m_clean − m_corrupt.
    """

    items: tuple[Item, ...]
    effects: Float[np.ndarray, "item head"]
    gap: Float[np.ndarray, " item"]

    def share(self) -> Interval:
        """Effects as shares of the gap (ratio of means), with cluster-robust intervals.

        Raises:
            ValueError: there is no gap (see `ratio_interval`).
        """
        return ratio_interval(self.effects, self.gap, clusters_of(self.items))

    def relative_to(self, whole: "Resampled") -> dict[str, Float[np.ndarray, " head"]]:
        """Effects as shares of the same heads' other effect: `estimate`, `low`, `high`.

        NaN where the interval of that other effect holds 0, or it is no more than rounding, so
        that no share of it exists.
        """
        clusters = clusters_of(self.items)
        there = mean_interval(whole.effects, clusters)
        exists = (there.low > 0) | (there.high < 0)
        exists &= np.abs(there.estimate) > _ROUNDING * abs(self.gap.mean())
        found = np.full((3, self.effects.shape[1]), np.nan)
        for head in np.flatnonzero(exists):
            interval = ratio_interval(self.effects[:, [head]], whole.effects[:, head], clusters)
            found[:, [head]] = interval.estimate, interval.low, interval.high
        return dict(zip(("estimate", "low", "high"), found, strict=True))


def resampled(
    model: Model,
    batch: Batch,
    heads: Sequence[Head],
    *,
    scope: AnyScope,
    baseline: Baseline = _RESAMPLE,
    metric: Metric = LOGIT_DIFFERENCE,
) -> Resampled:
    """The effect of an exchange in each head by itself.

    Args:
        baseline: what is put in, if not all that the counterfactual has.

    Raises:
        ValueError: there is no head, one stands twice, or see `joint`.
    """
    require_heads(heads)
    table = joint(
        model, [batch], {head.label: [head] for head in heads}, scope=scope, baseline=baseline,
        metric=metric,
    )  # fmt: skip
    n_items = len(batch)
    intact, edited, corrupt = (
        table[name].to_numpy(float).reshape(len(heads), n_items).T
        for name in ("intact", "edited", "corrupt")
    )
    return Resampled(items=batch.items, effects=intact - edited, gap=(intact - corrupt)[:, 0])


def require_heads(heads: Sequence[Head]) -> None:
    """Refuse an empty list of heads, and one with a head that stands twice, by a ValueError."""
    if not heads or len(set(heads)) < len(heads):
        raise ValueError(f"expected heads, each once, got {[head.label for head in heads]}.")


def together(parts: Sequence[Resampled]) -> Resampled:
    """Several batches as one."""
    return Resampled(
        items=tuple(item for part in parts for item in part.items),
        effects=np.concatenate([part.effects for part in parts]),
        gap=np.concatenate([part.gap for part in parts]),
    )
