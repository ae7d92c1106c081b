"""Is an effect too small to matter? A claim of its own, which no lack of significance makes."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Shaped
from scipy import stats

from interp.stats.clusters import Clusters
from interp.stats.intervals import mean_interval


@dataclass(frozen=True, kw_only=True)
class Equivalence:
    """Whether each head's mean lies between −bound and bound, in every cell of a design.

    Attributes:
        p_value: of the cell in which it is least shown; not adjusted for the number of heads.
        q_value: the same at a false discovery rate over the heads.
    """

    p_value: Float[np.ndarray, " head"]
    q_value: Float[np.ndarray, " head"]


def equivalence(
    values: Float[np.ndarray, "item head"],
    clusters: Clusters,
    *,
    bound: float,
    cells: Shaped[np.ndarray, " item"] | None = None,
) -> Equivalence:
    """Two one-sided tests of every head's mean, in each cell by itself, cluster-robust.

    A head that lifts one cell and lowers another has a mean near 0 and does something; it is not
    equivalent to nothing unless it is so in each. Each test is made at the level that is asked of
    the whole, for all have to succeed (intersection–union), and p is the largest of them.

    Args:
        bound: the least size that would matter, in the unit of the values.
        cells: the cell of each item; one cell when None.

    Raises:
        ValueError: the bound is not positive, a value is not finite, or a cell has fewer than two
            clusters on a side.

    Source: two one-sided tests, Schuirmann 1987, doi:10.1007/BF01068419; several at once, Berger
    and Hsu 1996, doi:10.1214/ss/1032280304; rate of false discoveries, Benjamini and Hochberg 1995.
    """
    if not bound > 0:
        raise ValueError(f"bound must be positive, got {bound}; 2 % of the gap is usual.")
    cells = np.zeros(len(values)) if cells is None else cells
    tests = []
    for cell in np.unique(cells):
        here = cells == cell
        interval = mean_interval(values[here], [way[here] for way in clusters])
        margin = bound - np.abs(interval.estimate)  # of the two tests the one that is nearer
        certain = np.copysign(np.inf, margin)
        t = np.divide(margin, interval.se, out=certain, where=interval.se > 0)
        tests.append(stats.t.sf(t, interval.df))
    p_value = np.max(tests, axis=0)
    return Equivalence(p_value=p_value, q_value=false_discovery(p_value))


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
