"""Tests of hundreds of heads at once, at one family-wise error."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from interp.stats.clusters import Clusters, n_clusters

_ALPHA = 0.05
CHUNK_NUMBERS = 1_000_000  # 8 MB of float64 in the largest intermediate array


@dataclass(frozen=True, kw_only=True)
class MaxT:
    """The max-T test of each head against no effect.

    Attributes:
        statistic: t, the mean over its cluster-robust standard error; 0 where all values are 0.
        p_value: two-sided, adjusted for the number of heads.
        smallest_p: the least that `p_value` could have been with so many clusters and flips.
        critical: |t| above which a head is significant at .05; infinite where none can be.
    """

    statistic: Float[np.ndarray, "*head"]
    p_value: Float[np.ndarray, "*head"]
    smallest_p: float
    critical: float


def adjusted_p(p_values: Float[np.ndarray, "*head"]) -> Float[np.ndarray, "*head"]:
    """Holm's step-down p-values: below α for any head, at a family-wise error of α.

    Raises:
        ValueError: a p-value is not between 0 and 1.

    Source: Holm 1979, Scandinavian Journal of Statistics 6.
    """
    p = p_values.ravel()
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError(
            "p-values must lie between 0 and 1, got some that do not, or NaN; "
            "leave out heads that have none."
        )
    order = np.argsort(p)
    n_still_tested = np.arange(p.size, 0, -1)
    stepped = np.empty(p.size)
    stepped[order] = np.minimum(np.maximum.accumulate(n_still_tested * p[order]), 1)
    return stepped.reshape(p_values.shape)


def reach_note(test: MaxT, clusters: Clusters) -> str:
    """A sentence where only a mean beyond one standard deviation of clusters can be found.

    Means of single heads are seldom that large (.5 to .9 for the heads of SmolLM2 that move
    coreference by 5 % or more), so that nothing found says nothing there.
    """
    count = n_clusters(clusters)
    least = test.critical / np.sqrt(count)
    if least <= 1:
        return ""
    return (
        f"with {count} clusters a head is significant among {test.p_value.size} only if its mean "
        f"is above {least:.1f} standard deviations of a cluster; more clusters are needed."
    )


def among_largest(
    observed: Float[np.ndarray, " head"], largest: Float[np.ndarray, " draw"]
) -> MaxT:
    """Each |t| against the largest |t| over heads of every draw."""
    ordered = np.sort(largest)
    just_below = np.abs(observed) * (1 - 1e-9)  # a tie counts, however its sum was rounded
    n_total = len(ordered) + 1
    n_reaching = n_total - np.searchsorted(ordered, just_below)
    n_allowed = int(_ALPHA * n_total + 1e-9)  # the sweep itself and the draws that may reach it
    return MaxT(
        statistic=observed,
        p_value=n_reaching / n_total,
        smallest_p=1 / n_total,
        critical=float(ordered[-n_allowed]) if n_allowed else np.inf,
    )


def or_infinite(
    mean: Float[np.ndarray, "draw head"], error: Float[np.ndarray, "draw head"]
) -> Float[np.ndarray, "draw head"]:
    """t of a mean and its standard error; without spread infinite, or 0 where all values are 0."""
    without_spread = np.where(mean == 0, 0.0, np.copysign(np.inf, mean))
    t: Float[np.ndarray, "draw head"] = np.divide(mean, error, out=without_spread, where=error > 0)
    return t
