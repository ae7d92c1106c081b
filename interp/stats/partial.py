"""Partial rank correlation of each head's values with one quantity, others held still."""

from dataclasses import replace

import numpy as np
from jaxtyping import Float
from scipy import stats

from interp.stats.clusters import Clusters, require_finite
from interp.stats.intervals import Interval, mean_interval
from interp.stats.max_t import max_t
from interp.stats.multiplicity import MaxT


def partial_correlation(
    values: Float[np.ndarray, "item head"],
    against: Float[np.ndarray, " item"],
    controls: Float[np.ndarray, "item control"],
    clusters: Clusters,
) -> Interval:
    """Spearman's ρ over items, the controls held still, −1 to 1, with a cluster-robust interval.

    All are ranked; what is left of either side after a regression on the controls is correlated.
    The interval is linearised: an item's share in ρ is xy − ρ (x² + y²) / 2, of residuals of unit
    variance. Of a head that the controls determine there is nothing left, and ρ is not a number.

    Raises:
        ValueError: a value is not finite, or the controls leave nothing of one side.
    """
    left, right = _residuals(values, against, controls)
    rho = (left * right).mean(axis=0)
    shares = left * right - rho * (left**2 + right**2) / 2 + rho
    found = mean_interval(shares, clusters)
    nothing = np.where(left.any(axis=0), 0.0, np.nan)
    return replace(
        found,
        estimate=found.estimate + nothing,
        low=found.low + nothing,
        high=found.high + nothing,
        se=found.se + nothing,
        p_value=found.p_value + nothing,
    )


def partial_correlation_test(
    values: Float[np.ndarray, "item head"],
    against: Float[np.ndarray, " item"],
    controls: Float[np.ndarray, "item control"],
    clusters: Clusters,
    *,
    seed: int,
) -> MaxT:
    """Whether any head's partial correlation differs from 0, adjusted for all heads together."""
    left, right = _residuals(values, against, controls)
    return max_t(left * right, clusters, seed=seed)


def _residuals(
    values: Float[np.ndarray, "item head"],
    against: Float[np.ndarray, " item"],
    controls: Float[np.ndarray, "item control"],
) -> tuple[Float[np.ndarray, "item head"], Float[np.ndarray, "item 1"]]:
    """Ranks of either side less what the controls say of them, of mean 0 and variance 1."""
    for name, each in (("values", values), ("against", against), ("controls", controls)):
        require_finite(each, name)
    design = np.column_stack([np.ones(len(controls)), _ranks(controls)])
    both = np.column_stack([_ranks(values), _ranks(against[:, None])])
    fitted, *_ = np.linalg.lstsq(design, both, rcond=None)
    left = both - design @ fitted
    spread = left.std(axis=0)
    if (spread[-1:] < 1e-6).any():
        raise ValueError(
            "the controls leave nothing of what is correlated, which they determine; leave one out."
        )
    # what is left of a head that the controls determine: 0, which correlates with nothing
    unit = np.divide(left, spread, out=np.zeros_like(left), where=spread > 1e-6)
    return unit[:, :-1], unit[:, -1:]


def _ranks(values: Float[np.ndarray, "item column"]) -> Float[np.ndarray, "item column"]:
    """Ranks from 0 to 1, those that tie sharing the mean of theirs."""
    ranked: np.ndarray = (stats.rankdata(values, axis=0) - 1) / max(len(values) - 1, 1)
    return ranked
