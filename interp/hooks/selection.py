"""What every hook shares: names of hook points, which heads and positions, tensors of a cache."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

import torch
from jaxtyping import Bool
from torch import Tensor

HookPair: TypeAlias = tuple[str, Callable[..., Tensor]]
"""A hook point's name and `function(tensor, hook) -> tensor`."""

Positions: TypeAlias = Sequence[int] | Tensor | None
"""Positions in every prompt (−1 is the last), or truth values `[batch, pos]`; None means all."""


@runtime_checkable
class Cache(Protocol):
    """What `bridge.run_with_cache` gives beside the logits, or a dict of tensors by hook name."""

    def __getitem__(self, name: str, /) -> Tensor: ...

    def __iter__(self) -> Iterator[str]: ...


def point(layer: int, name: str) -> str:
    """The full name of one of an attention layer's hook points, such as `z` or `pattern`."""
    return f"blocks.{layer}.attn.hook_{name}"


def by_layer(heads: Iterable[tuple[int, int]]) -> dict[int, list[int]]:
    """Heads as numbers in each layer."""
    grouped: dict[int, list[int]] = {}
    for layer, number in heads:
        grouped.setdefault(layer, []).append(number)
    return grouped


def head_mask(numbers: Sequence[int], like: Tensor, *, axis: int) -> Bool[Tensor, " head"]:
    """True for the chosen heads of a tensor with four axes, heads along `axis`.

    Raises:
        ValueError: a head that the tensor does not have, or another number of axes.
    """
    if like.ndim != 4:
        raise ValueError(
            f"expected a tensor with axes for batch, heads and two more, got shape "
            f"{tuple(like.shape)}; run without remove_batch_dim."
        )
    n_heads = like.shape[axis]
    if max(numbers) >= n_heads:
        raise ValueError(
            f"there is no head {max(numbers)} here: this layer has heads 0 to {n_heads - 1} "
            "at this hook point."
        )
    mask = torch.zeros(n_heads, dtype=torch.bool, device=like.device)
    mask[list(numbers)] = True
    return mask


def position_mask(
    positions: Positions, *, n_prompts: int, n_positions: int, device: Any
) -> Bool[Tensor, "batch pos"]:
    """True at the chosen positions of each prompt.

    Raises:
        ValueError: a position outside the prompt, or a tensor that is no `[batch, pos]` of truth
            values.
    """
    shape = (n_prompts, n_positions)
    if positions is None:
        return torch.ones(shape, dtype=torch.bool, device=device)
    if isinstance(positions, Tensor):
        if positions.dtype != torch.bool or positions.shape != shape:
            raise ValueError(
                f"positions must be a list of numbers or truth values of shape {shape}, got a "
                f"tensor of {positions.dtype} and shape {tuple(positions.shape)}."
            )
        return positions.to(device)
    outside = [pos for pos in positions if not -n_positions <= pos < n_positions]
    if outside or not len(positions):
        raise ValueError(
            f"positions must lie between {-n_positions} and {n_positions - 1} for prompts of "
            f"{n_positions} tokens, got {list(positions)}."
        )
    mask = torch.zeros(shape, dtype=torch.bool, device=device)
    mask[:, list(positions)] = True
    return mask


def cached(cache: Cache, name: str) -> Tensor:
    """A tensor of a cache, or a ValueError that says how it gets there."""
    if name not in cache:
        raise ValueError(
            f"the cache has no {name}; name it in names_filter when you run the donor with "
            "run_with_cache."
        )
    return cache[name]


def donated(
    cache: Cache, name: str, like: Tensor, *, shape: tuple[int, ...] | None = None
) -> Tensor:
    """A cached tensor on the device of `like`, of its shape or of another one that is due.

    Raises:
        ValueError: it was not cached, or has another shape.
    """
    tensor, due = cached(cache, name), like.shape if shape is None else shape
    if tensor.shape != due:
        raise ValueError(
            f"the cached {name} must have the shape {tuple(due)} of this run, got "
            f"{tuple(tensor.shape)}; cache as many donor prompts of the same length."
        )
    return tensor.to(like.device)
