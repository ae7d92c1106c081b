"""Is an effect too small to matter? A claim of its own, which no lack of significance makes."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Shaped
from scipy import stats

from interp.stats.clusters import Clusters, cluster_codes, n_clusters, require_finite
from interp.stats.intervals import variance_of_mean


@dataclass(frozen=True, kw_only=True)
class Equivalence:
    """Whether each head's mean lies within the bound on either side of 0, in every cell.

    Attributes:
        p_value: of the cell in which it is least shown; not adjusted for the number of heads.
        q_value: the same at a false discovery rate over the heads.
    """

    p_value: Float[np.ndarray, " head"]
    q_value: Float[np.ndarray, " head"]


def equivalence(
    values: Float[np.ndarray, "item head"],
    gap: Float[np.ndarray, " item"],
    clusters: Clusters,
    *,
    bound: float,
    cells: Shaped[np.ndarray, " item"] | None = None,
) -> Equivalence:
    """Two one-sided tests that every head's mean is within a share of the gap, in each cell.

    A head that lifts one cell and lowers another has a mean near 0 and does something; it is not
    equivalent to nothing unless it is so in each. Each test is made at the level that is asked of
    the whole, for all have to succeed (intersection–union), and p is the largest of them.

    The gap is an estimate too: a head with hardly any spread, exactly at the bound, would
    otherwise be called equivalent whenever the gap comes out large. So each test is of the mean
    in a cell less `bound` times the mean gap of all items, cluster-robust, and takes the chance
    of both, and what they share, as it is.

    Args:
        gap: of each item, in the unit of the values; ones for a bound in that unit.
        bound: the least size that would matter, as a share of the mean gap.
        cells: the cell of each item; one cell when None.

    Raises:
        ValueError: the bound or the mean gap is not positive, a value is not finite, or a cell has
            fewer than two clusters on a side.

    Source: two one-sided tests, Schuirmann 1987, doi:10.1007/BF01068419; several at once, Berger
    and Hsu 1996, doi:10.1214/ss/1032280304; a ratio by a difference, Fieller 1954.
    """
    require_finite(values, "values")
    require_finite(gap, "gap")
    if not bound > 0:
        raise ValueError(f"bound must be positive, got {bound}; .02 of the gap is usual.")
    if not gap.mean() > 0:
        raise ValueError(
            f"a share of the gap needs one that is positive, got {gap.mean():.3g} on average; "
            "check that the behaviour is there."
        )
    cells = np.zeros(len(values)) if cells is None else cells
    tests = [_p_in_cell(values, gap, clusters, bound, cells == cell) for cell in np.unique(cells)]
    p_value = np.max(tests, axis=0)
    return Equivalence(p_value=p_value, q_value=false_discovery(p_value))


def _p_in_cell(
    values: Float[np.ndarray, "item head"],
    gap: Float[np.ndarray, " item"],
    clusters: Clusters,
    bound: float,
    here: Bool[np.ndarray, " item"],
) -> Float[np.ndarray, " head"]:
    """Of the two tests the one that is nearer: |mean here| against bound × mean gap."""
    df = n_clusters([way[here] for way in clusters]) - 1
    mean = values[here].mean(axis=0)
    margin = bound * gap.mean() - np.abs(mean)
    towards = np.where(mean < 0, -1.0, 1.0) * (values - mean) * (here / here.mean())[:, None]
    residuals = bound * (gap - gap.mean())[:, None] - towards
    error = np.sqrt(variance_of_mean(residuals, cluster_codes(clusters)))
    certain = np.copysign(np.inf, margin)
    t = np.divide(margin, error, out=certain, where=error > 0)
    p_value: Float[np.ndarray, " head"] = stats.t.sf(t, df)
    return p_value


def false_discovery(p_values: Float[np.ndarray, " head"]) -> Float[np.ndarray, " head"]:
    """The least rate of false discoveries at which each head is one.

    Valid for tests that are independent or positively dependent.

    Raises:
        ValueError: a p-value is not between 0 and 1.

    Source: Benjamini and Hochberg 1995, doi:10.1111/j.2517-6161.1995.tb02031.x.
    """
    if not ((p_values >= 0) & (p_values <= 1)).all():
        raise ValueError(
            "p-values must lie between 0 and 1, got some that do not, or NaN; "
            "leave out heads that have none."
        )
    adjusted: Float[np.ndarray, " head"] = stats.false_discovery_control(p_values)
    return adjusted
