"""The test of every head at once that holds for the design at hand."""

import numpy as np
from jaxtyping import Float

from interp.stats.bootstrap import bootstrap_t
from interp.stats.clusters import Clusters
from interp.stats.flip_test import sign_flip_t
from interp.stats.multiplicity import MaxT
from interp.stats.resampling import N_DRAWS


def max_t(
    values: Float[np.ndarray, "item *head"],
    clusters: Clusters,
    *,
    n_draws: int = N_DRAWS,
    seed: int,
) -> MaxT:
    """Max-T test of every head's mean against 0: by sign flips where crossed, else by new draws.

    Effects of heads are skewed. In a crossed design `sign_flip_t` keeps its error nevertheless; in
    one way it does not, and `bootstrap_t` stands in its place. See `interp validate --statistics`.

    Raises:
        ValueError: a value is not finite, `n_draws` is below 1, or `clusters` is not one or two
            ways of two or more.
    """
    if len(clusters) == 2:
        return sign_flip_t(values, clusters, n_flips=n_draws, seed=seed)
    return bootstrap_t(values, clusters, n_draws=n_draws, seed=seed)
