"""Sweeps without any effect: do intervals cover, and how often does a test find something?"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from interp.progress import Advance
from interp.simulation.populations import Design, Population
from interp.stats import Clusters, Interval, MaxT, bootstrap_t, max_t, mean_interval, ratio_interval

Test = Callable[[Float[np.ndarray, "item head"], Clusters, int], MaxT]

N_DRAWS = 999
"""Of flips or draws a sweep: the test is as valid as with 9,999 (.05 × 1,000 is whole), a little
less powerful, and ten times as fast."""


def sign_flip(values: Float[np.ndarray, "item head"], clusters: Clusters, seed: int) -> MaxT:
    """`max_t` with as many flips as a simulation has time for."""
    return max_t(values, clusters, n_flips=N_DRAWS, seed=seed)


def redrawn(values: Float[np.ndarray, "item head"], clusters: Clusters, seed: int) -> MaxT:
    """`bootstrap_t`, likewise."""
    return bootstrap_t(values, clusters, n_draws=N_DRAWS, seed=seed)


TESTS: Mapping[str, Test] = {"sign-flip max-T": sign_flip, "bootstrap-t max-T": redrawn}


@dataclass(frozen=True, kw_only=True)
class Found:
    """What was found in sweeps of one population and design, a value a sweep.

    Attributes:
        mean_covered, ratio_covered: share of heads whose 95 % interval holds the true value.
        rejected: by test, whether any head came out significant at .05 where none has an effect.
    """

    mean_covered: Float[np.ndarray, " sweep"]
    ratio_covered: Float[np.ndarray, " sweep"]
    rejected: dict[str, Bool[np.ndarray, " sweep"]]


def null_sweeps(
    population: Population,
    design: Design,
    *,
    tests: Mapping[str, Test] = TESTS,
    n_sweeps: int,
    seed: int,
    advance: Advance = lambda cost: None,
) -> Found:
    """Draw sweeps of all heads; test the chance alone, and take intervals of effects and shares.

    Shares are of the gap of the same sweep, whose chance goes with that of the effects.
    """
    rng = np.random.default_rng(seed)
    means, ratios = np.empty(n_sweeps), np.empty(n_sweeps)
    rejected = {name: np.empty(n_sweeps, dtype=bool) for name in tests}
    for index in range(n_sweeps):
        sweep = population.sweep(rng, design)
        effects = sweep.chance + population.effects
        interval = mean_interval(effects, sweep.clusters)
        means[index] = covered(interval, population.effects)
        interval = ratio_interval(effects, sweep.gap, sweep.clusters)
        ratios[index] = covered(interval, population.effects / population.gap)
        for name, test in tests.items():
            p_values = test(sweep.chance, sweep.clusters, index).p_value
            rejected[name][index] = p_values.min() <= 0.05
        advance(1)
    return Found(mean_covered=means, ratio_covered=ratios, rejected=rejected)


def covered(interval: Interval, truth: Float[np.ndarray, " head"]) -> float:
    """The share of heads whose interval holds the true value."""
    return float(((interval.low <= truth) & (truth <= interval.high)).mean())
