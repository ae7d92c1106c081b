"""Half of the items to order heads on, half to count on."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool

from interp.items import Item
from interp.stats import Clusters

LEAST_CLUSTERS = 8
_BY_DESIGN = (
    "Heads are ordered on the discovery half of the items and removed on the confirmation half, "
    "which has other wordings and other words."
)
_AT_RANDOM = (
    "Heads are ordered on the items of half of the lexical frames, drawn at random, and removed on "
    "those of the other half; wordings stand in both"
)


@dataclass(frozen=True, kw_only=True)
class Halves:
    """Which items heads are ordered on; the others are held out.

    Attributes:
        discovery: marks the items to order on.
        how: the halves were made, in a sentence.
    """

    discovery: Bool[np.ndarray, " item"]
    how: str

    @property
    def held_out(self) -> Bool[np.ndarray, " item"]:
        """Marks the items to count on."""
        return ~self.discovery


def halves(items: Sequence[Item], clusters: Clusters, *, seed: int) -> Halves:
    """The halves that the items have; where they have none, half of the clusters at random.

    In a crossed design the frames of the first way are halved, and those of the other are shared.
    """
    splits = np.array([item.split for item in items])
    if set(splits) == {"discovery", "confirmation"}:
        return Halves(discovery=splits == "discovery", how=_BY_DESIGN)
    frames = np.unique(clusters[0])
    np.random.default_rng(seed).shuffle(frames)
    shared = "." if len(clusters) == 1 else ", and so do the frames of the second slot."
    return Halves(
        discovery=np.isin(clusters[0], frames[: len(frames) // 2]), how=f"{_AT_RANDOM}{shared}"
    )


def too_few(parted: Halves, clusters: Clusters) -> str:
    """A sentence where a half has too few clusters to say anything of others; else empty."""
    fewest = min(
        len(np.unique(way[half]))
        for way in clusters
        for half in (parted.discovery, ~parted.discovery)
    )
    if fewest >= LEAST_CLUSTERS:
        return ""
    return (
        f"Nothing is held out: a half of the items would have {fewest} lexical frames, and fewer "
        f"than {LEAST_CLUSTERS} say too little of others."
    )


def some_pairs(
    items: Sequence[Item], n_pairs: int, *, first: Bool[np.ndarray, " item"], seed: int
) -> Bool[np.ndarray, " item"]:
    """Marks the items of at most `n_pairs` pairs, drawn at random: of a first kind before others.

    Args:
        first: marks the items of the first kind; both of a pair, or none.
    """
    pairs = np.array([item.pair_id for item in items])
    generator = np.random.default_rng(seed)
    in_turn = [generator.permutation(np.unique(pairs[kind])) for kind in (first, ~first)]
    return np.isin(pairs, np.concatenate(in_turn)[:n_pairs])
