"""Designs of items in clusters, values without effects, and the variance by a second route."""

import numpy as np


def pairs_in_one_cluster(labels: np.ndarray) -> np.ndarray:
    return (labels[:, None] == labels).astype(float)


def sandwich(residuals: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Variance of a mean from the products of all pairs of items within a cluster."""
    count = len(np.unique(labels))
    products = np.einsum("ih,ij,jh->h", residuals, pairs_in_one_cluster(labels), residuals)
    return count / (count - 1) * products / len(labels) ** 2


def cell_labels(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return np.array([f"{a}/{b}" for a, b in zip(first, second, strict=True)])


def crossed(n_first: int, n_second: int) -> list[np.ndarray]:
    return [np.repeat(np.arange(n_first), n_second), np.tile(np.arange(n_second), n_first)]


def noise(rng: np.random.Generator, ways: list[np.ndarray], n_heads: int, spread: float = 1.0):
    """Values whose mean is 0: an effect of each cluster, of size `spread`, and of each item."""
    values = rng.standard_normal((len(ways[0]), n_heads))
    for way in ways:
        values += spread * rng.standard_normal((way.max() + 1, n_heads))[way]
    return values
