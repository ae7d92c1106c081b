"""How often an effect of a known size is found, pair by pair independent and normal."""

import numpy as np
from jaxtyping import Bool, Float

from interp.progress import Advance
from interp.simulation.nulls import Test
from interp.simulation.rates import Rate
from interp.stats import mean_interval

N_PAIRS = {
    0.2: {1: 199, 72: 454, 144: 495, 270: 532},
    0.3: {1: 90, 72: 205, 144: 224, 270: 244},
    0.5: {1: 34, 72: 78, 144: 85, 270: 95},
    0.8: {1: 15, 72: 34, 144: 37, 270: 40},
    1.0: {1: 10, 72: 24, 144: 26, 270: 29},
}
"""Pairs for a power of 80 % with a paired t and Bonferroni, by d_z (mean over standard deviation of
a pair) and number of heads."""

N_WITH_EFFECT = 10
"""Heads of a sweep that have the effect; the others have none."""


WITHIN = 0.05


def of_paired_t(
    d_z: float, n_pairs: int, n_heads: int, *, n_sweeps: int, seed: int
) -> Bool[np.ndarray, " sweep"]:
    """Whether a head with the effect is found, by `mean_interval`'s p at .05 / heads."""
    rng = np.random.default_rng(seed)
    values = rng.normal(d_z, 1, (n_pairs, n_sweeps))
    interval = mean_interval(values, [np.arange(n_pairs)])
    found: Bool[np.ndarray, " sweep"] = interval.p_value <= 0.05 / n_heads
    return found


def of_max_t(
    test: Test,
    d_z: float,
    n_pairs: int,
    n_heads: int,
    *,
    n_sweeps: int,
    seed: int,
    advance: Advance = lambda cost: None,
) -> Float[np.ndarray, " sweep"]:
    """Share of the heads with the effect that are found; heads are independent."""
    rng = np.random.default_rng(seed)
    shares = np.empty(n_sweeps)
    for index in range(n_sweeps):
        values = rng.standard_normal((n_pairs, n_heads))
        values[:, :N_WITH_EFFECT] += d_z
        p_values = test(values, [np.arange(n_pairs)], index).p_value[:N_WITH_EFFECT]
        shares[index] = (p_values <= 0.05).mean()
        advance(1)
    return shares


def is_as_tabled(rate: Rate) -> bool:
    """Whether a power is within 5 points of 80 %."""
    return abs(rate.measured - 0.8) <= WITHIN
