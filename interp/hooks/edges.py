"""Edit what a head takes over one edge, from source positions to query positions."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from einops import einsum
from jaxtyping import Bool, Float
from torch import Tensor

from interp.heads import HeadSpec, as_heads
from interp.hooks.selection import (
    Cache,
    HookPair,
    Positions,
    by_layer,
    cached,
    donated,
    head_mask,
    point,
    position_mask,
)


@dataclass(frozen=True, eq=False)
class Edge:
    """From where, in attention's words, to where: each query looks at each source.

    Attributes:
        query, source: positions, the same in each prompt (−1 is the last), or truth values
            `[batch, pos]`.
    """

    query: Positions
    source: Positions

    def mask(
        self, pattern: Float[Tensor, "batch head query key"]
    ) -> Bool[Tensor, "batch query key"]:
        """True where a query looks at a source."""
        n_prompts, _, n_query, n_key = pattern.shape
        at = partial(position_mask, n_prompts=n_prompts, device=pattern.device)
        return (
            at(self.query, n_positions=n_query)[:, :, None]
            & at(self.source, n_positions=n_key)[:, None, :]
        )


def zero_edge(heads: HeadSpec, edge: Edge) -> list[HookPair]:
    """Knock the edge out and leave the rest of the pattern as it is: the row then sums to less.

    The hook raises a ValueError if there is nothing to knock out: all weights on it are exactly 0.
    """
    return _for_each_layer(heads, "pattern", partial(_knocked_out, edge=edge))


def close_edge(heads: HeadSpec, edge: Edge) -> list[HookPair]:
    """Knock the edge out and let the rest renormalise: its scores become −inf.

    The hook raises a ValueError where that would leave a query without any key, and if the mask
    forbids the whole edge anyway.

    Source: Geva et al. 2023, arXiv:2304.14767.
    """
    return _for_each_layer(heads, "attn_scores", partial(_closed, edge=edge))


def resample_edge(heads: HeadSpec, edge: Edge, cache: Cache) -> list[HookPair]:
    """Replace what comes over the edge by what came over it in another run.

    z at the query becomes z − Σ A·v + Σ A′·v′ over the source positions, with primes from the
    cache, which must hold `hook_pattern` and `hook_v` of as many prompts of the same length.
    A and v are those of the edited run, so edits of several layers compose. Over an edge that the
    mask forbids nothing comes in either run, and nothing changes.
    """
    zeroed = _for_each_layer(heads, "pattern", partial(_zeroed, edge=edge))
    added = [
        (
            point(layer, "z"),
            partial(_added, numbers=tuple(numbers), edge=edge, cache=cache, layer=layer),
        )
        for layer, numbers in by_layer(as_heads(heads)).items()
    ]
    return zeroed + added


_NOTHING_THERE = (
    "these heads put no weight on this edge, so there is nothing to knock out; choose sources that "
    "the query may attend to: not after it, and inside its window."
)


def is_allowed(scores: Tensor) -> Bool[Tensor, "batch head query key"]:
    """Where the mask lets a query attend: −inf and the lowest finite number both mean closed."""
    return scores > torch.finfo(scores.dtype).min / 2


def _for_each_layer(heads: HeadSpec, name: str, edit: Callable[..., Tensor]) -> list[HookPair]:
    return [
        (point(layer, name), partial(edit, numbers=tuple(numbers)))
        for layer, numbers in by_layer(as_heads(heads)).items()
    ]


def _chosen(
    tensor: Float[Tensor, "batch head query key"], numbers: tuple[int, ...], edge: Edge
) -> Bool[Tensor, "batch head query key"]:
    return edge.mask(tensor)[:, None] & head_mask(numbers, tensor, axis=1)[:, None, None]


def _zeroed(
    pattern: Float[Tensor, "batch head query key"],
    hook: Any,
    *,
    numbers: tuple[int, ...],
    edge: Edge,
) -> Float[Tensor, "batch head query key"]:
    return pattern.masked_fill(_chosen(pattern, numbers, edge), 0.0)


def _knocked_out(
    pattern: Float[Tensor, "batch head query key"],
    hook: Any,
    *,
    numbers: tuple[int, ...],
    edge: Edge,
) -> Float[Tensor, "batch head query key"]:
    if not pattern[_chosen(pattern, numbers, edge)].any():
        raise ValueError(_NOTHING_THERE)
    return _zeroed(pattern, hook, numbers=numbers, edge=edge)


def _closed(
    scores: Float[Tensor, "batch head query key"],
    hook: Any,
    *,
    numbers: tuple[int, ...],
    edge: Edge,
) -> Float[Tensor, "batch head query key"]:
    allowed, chosen = is_allowed(scores), _chosen(scores, numbers, edge)
    if not (allowed & chosen).any():
        raise ValueError(_NOTHING_THERE)
    emptied = allowed.any(dim=-1) & ~(allowed & ~chosen).any(dim=-1)
    if emptied.any():
        where = sorted({int(row) for row in emptied.nonzero()[:, 2]})
        raise ValueError(
            f"closing this edge leaves the queries at positions {where} without any key; "
            "leave them a key, or use `zero_edge`."
        )
    return scores.masked_fill(chosen, -torch.inf)


def _added(
    z: Float[Tensor, "batch query head d_head"],
    hook: Any,
    *,
    numbers: tuple[int, ...],
    edge: Edge,
    cache: Cache,
    layer: int,
) -> Float[Tensor, "batch query head d_head"]:
    n_prompts, n_query, n_heads, _ = z.shape
    pattern = donated(
        cache, point(layer, "pattern"), z, shape=(n_prompts, n_heads, n_query, n_query)
    )
    value = cached(cache, point(layer, "v")).to(z.device)
    value = value.repeat_interleave(n_heads // value.shape[2], dim=2)
    over_edge = pattern * _chosen(pattern, numbers, edge)
    return z + einsum(over_edge, value, "b head query key, b key head d -> b query head d")
