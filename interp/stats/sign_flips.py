"""What a mean reaches by chance: the sign of each cluster is a coin's."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from interp.stats.clusters import Clusters, cluster_codes, cluster_sums, require_finite
from interp.stats.resampling import N_DRAWS


@dataclass(frozen=True, kw_only=True)
class FlipNull:
    """What means pass in no more than a share of all sign flips, in the unit of the values.

    Attributes:
        own: each head's own mean.
        largest: the largest mean over heads: what the best of them reaches by chance.
    """

    own: Float[np.ndarray, "*head"]
    largest: float


def flip_null(
    values: Float[np.ndarray, "item *head"],
    clusters: Clusters,
    *,
    passed_in: float = 0.05,
    n_flips: int = N_DRAWS,
    seed: int,
) -> FlipNull:
    """The level that the mean over items passes by chance, one-sided, signs flipped by cluster.

    All heads are flipped together, so `largest` takes the correlation between them as it is. Where
    no more than `n_flips` patterns of signs and their negations exist, all are taken. In a crossed
    design each way is flipped in turn, and the higher level counts.

    The null is that a cluster's values are as likely with the other sign: true where the two sides
    of a pair are exchanged.

    Raises:
        ValueError: a value is not finite, `n_flips` is below 1, or `clusters` is not one or two
            ways of two or more.

    Source: Westfall and Young 1993, Resampling-based multiple testing.
    """
    require_finite(values, "values")
    require_flips(n_flips)
    flat = values.reshape(len(values), -1).astype(np.float64)
    rng = np.random.default_rng(seed)
    levels = []
    for way in cluster_codes(clusters):
        sums = cluster_sums(flat, way)
        half = np.vstack([np.ones(len(sums)), sign_patterns(len(sums), n_flips, rng)])
        means = half @ sums / len(flat)
        means = np.concatenate([means, -means])
        with_best = np.column_stack([means, means.max(axis=1)])
        levels.append(np.quantile(with_best, 1 - passed_in, axis=0, method="inverted_cdf"))
    *own, largest = np.max(levels, axis=0)
    return FlipNull(own=np.array(own).reshape(values.shape[1:]), largest=float(largest))


def sign_patterns(
    n_clusters: int, n_flips: int, rng: np.random.Generator
) -> Float[np.ndarray, "flip cluster"]:
    """Patterns of signs, the first sign always +; all but the identity, or a random sample."""
    n_patterns = 2 ** (n_clusters - 1)
    if n_patterns - 1 <= n_flips:
        bits = np.arange(1, n_patterns)[:, None] >> np.arange(n_clusters - 1) & 1
    else:
        bits = rng.integers(2, size=(n_flips, n_clusters - 1))
    return np.insert(1.0 - 2.0 * bits, 0, 1.0, axis=1)


def require_flips(n_flips: int) -> None:
    """Refuse a test without flips.

    Raises:
        ValueError: `n_flips` is below 1.
    """
    if n_flips < 1:
        raise ValueError(f"n_flips must be at least 1, got {n_flips}; 9999 is usual.")
