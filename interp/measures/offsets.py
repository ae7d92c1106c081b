"""Attention by distance: the mass at each offset, and how often the most is there."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor


def at_offset(
    pattern: Float[Tensor, "item head query key"], offset: int
) -> Float[Tensor, "item head pos"]:
    """Attention to the key `offset` places before each query that has one; after it, if negative.

    The first of these queries is the one at place `offset`, or at 0 if that is negative.
    """
    return torch.diagonal(pattern, offset=-offset, dim1=2, dim2=3)


def offset_mass(
    pattern: Float[Tensor, "item head query key"], offset: int, *, first_key: int = 1
) -> Float[Tensor, "item head"]:
    """The mean attention to the key `offset` places before, 0 to 1, keys from `first_key` on.

    The key at position 0 is left out, or it would count as the one before wherever the query is
    near.

    Raises:
        ValueError: no query has such a key.
    """
    length = pattern.shape[-1]
    kept = pattern[:, :, first_key:, first_key:]
    if abs(offset) >= length - first_key:
        raise ValueError(
            f"no query of {length} tokens has a key {offset} places before it, the first "
            f"{first_key} keys left out; give longer texts or a smaller offset."
        )
    return at_offset(kept, offset).mean(-1)


def offset_dominance(
    pattern: Float[Tensor, "item head query key"],
    offset: int,
    special: Bool[Tensor, "item key"],
) -> Float[Tensor, "item head"]:
    """How often the most attention, specials apart, is `offset` places before the query, 0 to 1.

    Of the queries that are no special tokens and have such a key that is none. From .9 on a head
    is called positional.

    Source: Voita et al. 2019, arXiv:1905.09418.
    """
    length = pattern.shape[-1]
    best = pattern.masked_fill(special[:, None, None, :], -1.0).argmax(-1)
    queries = torch.arange(length)
    keys = queries - offset
    inside = (keys >= 0) & (keys < length)
    counts = inside & ~special & ~special[:, keys.clamp(0, length - 1)]
    hits = (best == keys) & counts[:, None]
    return hits.sum(-1) / counts.sum(-1)[:, None]
