"""Clusters: items that share a lexical frame, and so are not independent of each other."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from jaxtyping import Float, Int, Shaped

MIN_CLUSTERS = 16

Clusters: TypeAlias = Sequence[Shaped[np.ndarray, " item"]]
"""The cluster label of each item: one array, or two in a crossed design (noun × attractor)."""

Codes: TypeAlias = Int[np.ndarray, " item"]
"""The cluster of each item as a number, counted from 0 without gaps."""


def cluster_codes(clusters: Clusters) -> list[Codes]:
    """The clusters of each way of the design, numbered.

    Raises:
        ValueError: there are not one or two ways, or a way has a single cluster.
    """
    if len(clusters) not in (1, 2):
        raise ValueError(
            f"clusters must hold one array of labels, or two in a crossed design, "
            f"got {len(clusters)}; pass for example [noun, attractor]."
        )
    ways = [np.unique(labels, return_inverse=True)[1] for labels in clusters]
    if any(way.size == 0 or way.max() == 0 for way in ways):
        raise ValueError(
            "a spread between clusters needs at least two of them on each side, got "
            f"{' and '.join(str(len(np.unique(way))) for way in ways)}; "
            "add items with other lexical frames."
        )
    return ways


def crossed_codes(way: Codes, other: Codes) -> Codes:
    """The cell of a crossed design that each item lies in; cells without items have no number."""
    return np.unique(way * (other.max() + 1) + other, return_inverse=True)[1]


def cluster_sums(
    values: Float[np.ndarray, "item *head"], codes: Codes
) -> Float[np.ndarray, "cluster *head"]:
    """The sum of the values in each cluster."""
    sums = np.zeros((codes.max() + 1, *values.shape[1:]))
    np.add.at(sums, codes, values)
    return sums


def crossed_sums(
    values: Float[np.ndarray, "item head"], way: Codes, others: list[Codes]
) -> tuple[Float[np.ndarray, "cluster other head"], Float[np.ndarray, "cluster other"]]:
    """Sums and counts by cluster of one way and of the other; one column where there is none."""
    other = others[0] if others else np.zeros_like(way)
    counts = np.zeros((way.max() + 1, other.max() + 1))
    sums = np.zeros((*counts.shape, values.shape[1]))
    np.add.at(counts, (way, other), 1)
    np.add.at(sums, (way, other), values)
    return sums, counts


def n_clusters(clusters: Clusters) -> int:
    """The number of clusters; in a crossed design, on the side that has fewer."""
    return min(int(way.max()) + 1 for way in cluster_codes(clusters))


def support_note(clusters: Clusters) -> str:
    """A sentence where there are too few clusters to trust an interval or a test, else empty."""
    count = n_clusters(clusters)
    if count >= MIN_CLUSTERS:
        return ""
    return f"intervals are unsupported below {MIN_CLUSTERS} clusters a side; here are {count}."


def require_finite(values: Float[np.ndarray, "..."], name: str) -> None:
    """Refuse values that no mean can be taken of.

    Raises:
        ValueError: a value is NaN or infinite.
    """
    n_bad = values.size - int(np.isfinite(values).sum())
    if n_bad:
        raise ValueError(
            f"{name} must be finite, got {n_bad} of {values.size} that are NaN or infinite; "
            "leave out items, or heads, on which they are undefined."
        )
