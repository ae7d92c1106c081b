"""A measured rate with its interval, and whether it keeps what is claimed."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from scipy import stats


class Rate(NamedTuple):
    """A share of simulated sweeps, or a mean over them, with its 95 % interval."""

    measured: float
    low: float
    high: float


def share(happened: Bool[np.ndarray, " sweep"]) -> Rate:
    """How often something happened; Clopper and Pearson's exact interval."""
    found = stats.binomtest(int(happened.sum()), len(happened))
    low, high = found.proportion_ci(method="exact")
    return Rate(float(happened.mean()), float(low), float(high))


def mean_share(shares: Float[np.ndarray, " sweep"]) -> Rate:
    """Mean of a share of heads, over the sweeps that have one.

    Sweeps are independent and heads are not, so sweeps are counted.
    """
    shares = shares[~np.isnan(shares)]
    mean = float(shares.mean())
    half = float(stats.norm.ppf(0.975) * shares.std(ddof=1) / np.sqrt(len(shares)))
    return Rate(mean, mean - half, mean + half)


def covers(rate: Rate) -> bool:
    """Whether 95 % intervals cover in 93 to 97 % of cases."""
    return 0.93 <= rate.measured <= 0.97


def is_kept(rate: Rate) -> bool:
    """Whether an error of 5 % is kept: not shown to be above it, and surely not above 7 %."""
    return rate.low <= 0.05 and rate.high <= 0.07
