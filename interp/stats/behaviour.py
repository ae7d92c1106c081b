"""The behaviour gate: heads are examined only where there is a behaviour to explain."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Shaped

from interp.stats.clusters import Clusters, n_clusters
from interp.stats.intervals import mean_interval

LEAST_CONTRAST = 0.5
GATE_ALPHA = 0.01


@dataclass(frozen=True, kw_only=True)
class Gate:
    """Whether the model shows the behaviour.

    Attributes:
        mean, low, high: the contrast, with its 95 % interval.
        p_value: one-sided, that the contrast is positive.
        n_clusters: on the side of a crossed design that has fewer.
        reason: why the behaviour does not pass; empty if it does.
    """

    mean: float
    low: float
    high: float
    p_value: float
    n_clusters: int
    reason: str

    @property
    def passes(self) -> bool:
        """Whether head claims may be made."""
        return not self.reason


def gate(
    contrast: Float[np.ndarray, " item"],
    clusters: Clusters,
    pairs: Shaped[np.ndarray, " item"],
    *,
    least: float = LEAST_CONTRAST,
) -> Gate:
    """Whether the contrast m(x) − m(x') is positive (p < .01) and at least 0.5 logits, or `least`.

    The two directions of a pair are averaged first, so that each pair counts once. The test is
    a cluster-robust t.

    Raises:
        ValueError: a contrast is not finite, a pair lies in two clusters, or `clusters` is not
            one or two ways of two or more.
    """
    _, first, pair = np.unique(pairs, return_index=True, return_inverse=True)
    for labels in clusters:
        astray = pairs[labels != labels[first][pair]]
        if astray.size:
            raise ValueError(
                f"both directions of a pair must lie in one cluster, got pair {astray[0]!s} in "
                "two; label clusters by what the directions share."
            )
    by_pair = np.bincount(pair, weights=contrast) / np.bincount(pair)
    by_pair_clusters = [labels[first] for labels in clusters]
    interval = mean_interval(by_pair[:, None], by_pair_clusters)
    mean = float(interval.estimate[0])
    p_value = float(interval.p_value[0]) / 2
    if mean < 0:
        p_value = 1 - p_value
    count = n_clusters(by_pair_clusters)
    return Gate(
        mean=mean,
        low=float(interval.low[0]),
        high=float(interval.high[0]),
        p_value=p_value,
        n_clusters=count,
        reason=_reason(mean, p_value, count, least),
    )


def _reason(mean: float, p_value: float, count: int, least: float) -> str:
    if p_value >= GATE_ALPHA:
        return (
            f"the contrast, {mean:.2f}, is not shown to be positive: "
            f"p = {p_value:.2g} over {count} clusters, not below {GATE_ALPHA}."
        )
    if mean < least:
        return f"the contrast is {mean:.2f}, below {least}."
    return ""
