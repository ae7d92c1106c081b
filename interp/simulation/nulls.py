"""Sweeps without any effect: do intervals cover, and how often does a test find something?"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from interp.progress import Advance
from interp.simulation.populations import Design, Population, Sweep
from interp.stats import Clusters, Interval, MaxT, max_t, mean_interval, ratio_interval

Test = Callable[[Float[np.ndarray, "item head"], Clusters, int], MaxT]

FEW_DRAWS = 499
"""As valid as 9,999 (.05 × 500 is whole), a little less powerful, and twenty times as fast."""

MATTERS = 0.05
"""Of the gap, as in verdicts."""


def max_t_briefly(values: Float[np.ndarray, "item head"], clusters: Clusters, seed: int) -> MaxT:
    """`max_t` with fewer draws."""
    return max_t(values, clusters, n_draws=FEW_DRAWS, seed=seed)


@dataclass(frozen=True, kw_only=True)
class Found:
    """What was found in sweeps of one population and design, a value a sweep.

    Attributes:
        mean_covered, ratio_covered: share of heads whose 95 % interval holds the true value; NaN
            for shares of a gap that is not distinct from 0, which are refused.
        rejected: whether any head came out significant at .05 where none has an effect.
        matters: whether one of these was in addition at least 5 % of the gap.
    """

    mean_covered: Float[np.ndarray, " sweep"]
    ratio_covered: Float[np.ndarray, " sweep"]
    rejected: Bool[np.ndarray, " sweep"]
    matters: Bool[np.ndarray, " sweep"]


def null_sweeps(
    population: Population,
    design: Design,
    *,
    test: Test = max_t_briefly,
    n_sweeps: int,
    seed: int,
    advance: Advance = lambda cost: None,
) -> Found:
    """Draw sweeps of all heads; test the chance alone, and take intervals of effects and shares.

    Shares are of the gap of the same sweep, whose chance goes with that of the effects.
    """
    rng = np.random.default_rng(seed)
    means, ratios = np.empty(n_sweeps), np.empty(n_sweeps)
    rejected, matters = (np.empty(n_sweeps, dtype=bool) for _ in range(2))
    for index in range(n_sweeps):
        sweep = population.sweep(rng, design)
        effects = sweep.chance + population.effects
        means[index] = covered(mean_interval(effects, sweep.clusters), population.effects)
        ratios[index] = _covered_share(effects, sweep, population)
        is_large = np.abs(sweep.chance.mean(axis=0)) >= MATTERS * abs(sweep.gap.mean())
        is_significant = test(sweep.chance, sweep.clusters, index).p_value <= 0.05
        rejected[index] = is_significant.any()
        matters[index] = (is_significant & is_large).any()
        advance(1)
    return Found(mean_covered=means, ratio_covered=ratios, rejected=rejected, matters=matters)


def covered(interval: Interval, truth: Float[np.ndarray, " head"]) -> float:
    """The share of heads whose interval holds the true value."""
    return float(((interval.low <= truth) & (truth <= interval.high)).mean())


def _covered_share(
    effects: Float[np.ndarray, "item head"], sweep: Sweep, population: Population
) -> float:
    try:
        interval = ratio_interval(effects, sweep.gap, sweep.clusters)
    except ValueError:
        return float("nan")
    return covered(interval, population.effects / population.gap)
