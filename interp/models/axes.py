"""Which axes of a layer's arguments are items, and which are rows: probed, not guessed.

The model is run at two batch sizes and two lengths. An axis that follows the batch size holds
items; the first axis that follows the length holds rows (a mask has a second one, for keys).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils import _pytree

from interp.models.plain import Plain


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

    Each item takes up `block` places of its axis: more than one where heads lie beside items.
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


def probe_axes(plain: Plain) -> list[list[Axes]]:
    """For each layer and each of its arguments, where items and rows are."""
    small, wide, long = (_calls(plain, *shape) for shape in ((2, 5), (3, 5), (2, 7)))
    return [
        [_axes(*leaves) for leaves in zip(a.leaves, b.leaves, c.leaves, strict=True)]
        for a, b, c in zip(small, wide, long, strict=True)
    ]


def select(leaf: Any, axes: Axes, *, items: Tensor, rows: slice) -> Any:
    """An argument for other items (which may repeat) and fewer rows."""
    if not isinstance(leaf, Tensor):
        return leaf
    if axes.row is not None:
        leaf = leaf[(slice(None),) * axes.row + (rows,)]
    if axes.item is not None and leaf.shape[axes.item] > 1:
        blocks = leaf.unflatten(axes.item, (-1, axes.block))
        leaf = blocks.index_select(axes.item, items).flatten(axes.item, axes.item + 1)
    return leaf


def _calls(plain: Plain, n_items: int, length: int) -> list[Arguments]:
    ids = torch.arange(length).expand(n_items, length).to(plain.module.device)
    with torch.inference_mode(), recording(plain.anatomy.layers) as calls:
        plain.states(ids)
    return calls


def _axes(small: Any, wide: Any, long: Any) -> Axes:
    if not isinstance(small, Tensor):
        return Axes(item=None, row=None)
    item, row = _first_change(small, wide), _first_change(small, long)
    block = 1 if item is None else wide.shape[item] - small.shape[item]  # of the one item more
    return Axes(item=item, row=row, block=block)


def _first_change(one: Tensor, other: Tensor) -> int | None:
    changes = [
        axis for axis, (a, b) in enumerate(zip(one.shape, other.shape, strict=True)) if a != b
    ]
    return changes[0] if changes else None
