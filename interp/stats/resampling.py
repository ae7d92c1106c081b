"""Items drawn anew by cluster, and what comes out when halves of the clusters stand alone."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

from interp.stats.clusters import Clusters, cluster_codes

N_DRAWS = 9_999
"""Of a test, unless told otherwise: with the sample itself, as many as .05 needs to be whole."""


def draws(
    clusters: Clusters, n_boot: int, rng: np.random.Generator
) -> Float[np.ndarray, "draw item"]:
    """How often each item is drawn when clusters are drawn with replacement.

    In a crossed design each way is drawn on its own, and an item's weight is the product. Draws of
    a sparse design that hold no item are left out.

    Source: pigeonhole bootstrap, Owen 2007, arXiv:0712.1111.
    """
    weights = np.ones((n_boot, len(clusters[0])))
    for way in cluster_codes(clusters):
        count = int(way.max()) + 1
        weights *= rng.multinomial(count, np.full(count, 1 / count), size=n_boot)[:, way]
    return weights[weights.any(axis=1)]


def half_splits(
    clusters: Clusters, n_splits: int, rng: np.random.Generator
) -> Iterator[Float[np.ndarray, "split item"]]:
    """For each way of the design, random halves of its clusters: 1 in the one half, 0 in the other.

    Of an odd number of clusters, the first half has one less.
    """
    for way in cluster_codes(clusters):
        count = int(way.max()) + 1
        in_first = np.argsort(rng.random((n_splits, count)), axis=1) < count // 2
        yield in_first[:, way].astype(float)


def drawn_means(
    values: Float[np.ndarray, "item head"], weights: Float[np.ndarray, "draw item"]
) -> Float[np.ndarray, "draw head"]:
    """The mean of each draw."""
    means: Float[np.ndarray, "draw head"] = weights @ values / weights.sum(axis=1, keepdims=True)
    return means
