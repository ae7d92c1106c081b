"""Heads at the bound of equivalence: how often does the test call one of them idle?"""

import numpy as np
from jaxtyping import Float

from interp.progress import Advance
from interp.simulation.populations import Design, Population
from interp.stats import equivalence

BOUND = 0.02
"""Of the gap, as in verdicts."""


def called_idle(
    population: Population,
    design: Design,
    *,
    n_sweeps: int,
    seed: int,
    advance: Advance = lambda cost: None,
) -> Float[np.ndarray, " sweep"]:
    """Share of heads called equivalent to nothing at p ≤ .05, all of them at the bound in one cell.

    Every head's true effect is 2 % of the gap in one cell of the design, upward or downward by
    turns, and 0 in the other, whose items are drawn from the same population.
    """
    rng = np.random.default_rng(seed)
    bound = BOUND * abs(population.gap)
    upward = np.where(np.arange(len(population.effects)) % 2 == 0, bound, -bound)
    shares = np.empty(n_sweeps)
    for index in range(n_sweeps):
        here, there = (population.sweep(rng, design) for _ in range(2))
        values = np.concatenate([here.chance + upward, there.chance])
        clusters = [np.tile(way, 2) for way in here.clusters]
        cells = np.repeat([0, 1], len(here.chance))
        gap = np.concatenate([here.gap, there.gap])
        found = equivalence(values, gap, clusters, bound=BOUND, cells=cells)
        shares[index] = (found.p_value <= 0.05).mean()
        upward = -upward
        advance(1)
    return shares
