"""What a head must beat in natural text: a fixed offset, the nearest candidate, and chance."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from interp.encode_text import TextBatch

OFFSETS = tuple(offset for offset in range(-10, 11) if offset)


@dataclass(frozen=True, kw_only=True)
class OffsetBaseline:
    """The best fixed offset, chosen on some items and counted on others.

    Attributes:
        offset: how many words the source stands before the query; after it, if negative.
        accuracy: on the other items, 0 to 1.
    """

    offset: int
    accuracy: float


def offset_hits(
    batches: Sequence[TextBatch], offsets: Sequence[int]
) -> Bool[np.ndarray, "item offset"]:
    """Whether the word at each offset from the query is the source."""
    return np.array(
        [
            [query - offset in source for offset in offsets]
            for batch in batches
            for query, source in zip(batch.query, batch.source, strict=True)
        ]
    )


def best_offset(
    batches: Sequence[TextBatch],
    *,
    chosen_on: Bool[np.ndarray, " item"],
    counted_on: Bool[np.ndarray, " item"],
    is_causal: bool,
) -> OffsetBaseline:
    """The offset most often right on some items, counted on others.

    A causal model sees what stands before alone, so there only such offsets are tried.

    Raises:
        ValueError: there are no items to choose on, or none to count on.

    Source: Clark et al. 2019, arXiv:1906.04341, who choose and count on the same items.
    """
    if not (chosen_on.any() and counted_on.any()):
        raise ValueError(
            f"an offset is chosen on some items and counted on others, got {int(chosen_on.sum())} "
            f"and {int(counted_on.sum())}; split the items by document."
        )
    offsets = [offset for offset in OFFSETS if offset > 0 or not is_causal]
    hits = offset_hits(batches, offsets)
    best = int(hits[chosen_on].mean(axis=0).argmax())
    return OffsetBaseline(offset=offsets[best], accuracy=float(hits[counted_on, best].mean()))


def nearest_candidate(batches: Sequence[TextBatch]) -> Float[np.ndarray, " item"]:
    """1 where the candidate nearest to the query is the source, else 0; of two equally near, ½.

    NaN for items without a distractor.
    """
    values = []
    for batch in batches:
        parts = zip(batch.query, batch.source, batch.distractors, strict=True)
        for query, source, others in parts:
            near = min(abs(word - query) for word in (*source, *others))
            nearest = [word for word in (*source, *others) if abs(word - query) == near]
            values.append(np.mean([word in source for word in nearest]) if others else np.nan)
    return np.array(values, dtype=float)


def chance_open(batches: Sequence[TextBatch], *, is_causal: bool) -> Float[np.ndarray, " item"]:
    """The share of the source among the words that a query may select."""
    values = []
    for batch in batches:
        for query, source in zip(batch.query, batch.source, strict=True):
            visible = range(query if is_causal else len(batch.groups))
            n_words = len(set(visible) - {query, *batch.special})
            values.append(len(source) / n_words if n_words else np.nan)
    return np.array(values, dtype=float)


def chance_among(batches: Sequence[TextBatch]) -> Float[np.ndarray, " item"]:
    """The share of the source among the candidates; NaN for items without a distractor."""
    return np.array(
        [
            len(source) / (len(source) + len(others)) if others else np.nan
            for batch in batches
            for source, others in zip(batch.source, batch.distractors, strict=True)
        ],
        dtype=float,
    )
