"""Which axes of a layer's arguments are items, and which are rows: probed, not guessed.

The model is run at two batch sizes and two lengths. An axis that follows the batch size holds
items; one that follows the length holds rows. What follows the length twice is a mask: queries and
keys.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from jaxtyping import Int
from torch import Tensor, nn
from torch.utils import _pytree


@dataclass(frozen=True)
class Arguments:
    """What a layer was called with: flat, and how to put it together again."""

    leaves: tuple[Any, ...]
    spec: Any

    def rebuilt(self, leaves: list[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Positional and keyword arguments with other leaves."""
        args, kwargs = _pytree.tree_unflatten(leaves, self.spec)
        return args, kwargs


@dataclass(frozen=True)
class Axes:
    """Where one argument has its items and its rows; None where it has neither.

    Each item takes up `block` places of its axis: more than one where heads lie beside items. A
    mask, which follows the length twice, is left whole: `row` is None.
    """

    item: int | None
    row: int | None
    block: int = 1


@contextmanager
def recording(layers: tuple[nn.Module, ...]) -> Iterator[list[Arguments]]:
    """While the block runs, what each layer is called with, in order of the calls."""
    calls: list[Arguments] = []

    def keep(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        leaves, spec = _pytree.tree_flatten((args, kwargs))
        calls.append(Arguments(tuple(leaves), spec))

    handles = [layer.register_forward_pre_hook(keep, with_kwargs=True) for layer in layers]
    try:
        yield calls
    finally:
        for handle in handles:
            handle.remove()


def probe_axes(small: Arguments, wide: Arguments, long: Arguments) -> list[Axes]:
    """Axes of one layer's arguments, from calls with another batch size and another length."""
    return [_axes(*leaves) for leaves in zip(small.leaves, wide.leaves, long.leaves, strict=True)]


def at_rows(leaf: Any, axes: Axes, *, rows: Int[Tensor, " row"] | None, n_lanes: int) -> Any:
    """An argument of one item, for as many items, at other rows (all when None)."""
    if not isinstance(leaf, Tensor):
        return leaf
    if axes.row is not None and rows is not None:
        leaf = leaf.index_select(axes.row, rows)
    if axes.item is None or n_lanes == 1:
        return leaf
    if axes.block == 1:
        return leaf.expand(*(n_lanes if axis == axes.item else -1 for axis in range(leaf.ndim)))
    return leaf.repeat(*(n_lanes if axis == axes.item else 1 for axis in range(leaf.ndim)))


def _axes(small: Any, wide: Any, long: Any) -> Axes:
    if not isinstance(small, Tensor):
        return Axes(item=None, row=None)
    items, rows = _changes(small, wide), _changes(small, long)
    item = items[0] if items else None
    block = 1 if item is None else wide.shape[item] - small.shape[item]  # of the one item more
    return Axes(item=item, row=rows[0] if len(rows) == 1 else None, block=block)


def _changes(one: Tensor, other: Tensor) -> list[int]:
    return [axis for axis, (a, b) in enumerate(zip(one.shape, other.shape, strict=True)) if a != b]
