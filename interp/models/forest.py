"""Prompts that share prefixes, as a forest in which each distinct prefix is one node.

In a causal model what stands at a position depends on the tokens up to it alone, so prompts with
the same prefix have the same states there, and one row of a batch serves them all.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Forest:
    """Which node each position of each item is. Nodes are numbered as a walk in depth meets them.

    Attributes:
        node_of: −1 beyond an item's last position.
        item, depth: for each node, an item that has it, and its position there.
    """

    node_of: Int[np.ndarray, "item pos"]
    item: Int[np.ndarray, " node"]
    depth: Int[np.ndarray, " node"]

    def __len__(self) -> int:
        return len(self.item)

    @property
    def order(self) -> Int[np.ndarray, " item"]:
        """Items as the walk meets them: those with long common prefixes stand together."""
        reverse = self.node_of.T[::-1]
        return np.lexsort(reverse)


def forest(symbols: Int[Tensor, "item pos"], n_positions: Int[Tensor, " item"]) -> Forest:
    """The forest of items that are the same up to a position where their symbols are.

    Args:
        symbols: tokens, or anything else that decides what stands at a position.
        n_positions: how many positions of each item are wanted.
    """
    table = np.where(_wanted(symbols, n_positions), symbols.numpy(), -1)
    order = np.lexsort(table.T[::-1])
    table = table[order]
    differs = np.ones_like(table, dtype=bool)
    differs[1:] = np.logical_or.accumulate(table[1:] != table[:-1], axis=1)
    is_new = differs & (table >= 0)
    numbers = np.where(is_new, np.cumsum(is_new.ravel()).reshape(table.shape) - 1, -1)
    numbers = np.maximum.accumulate(numbers, axis=0)
    node_of = np.empty_like(numbers)
    node_of[order] = np.where(table >= 0, numbers, -1)
    rows, depth = is_new.nonzero()
    return Forest(node_of=node_of, item=order[rows], depth=depth)


def unshared(n_items: int, length: int) -> Forest:
    """Every position of every item a node of its own, where nothing can be shared."""
    node_of = np.arange(n_items * length).reshape(n_items, length)
    return Forest(
        node_of=node_of,
        item=np.repeat(np.arange(n_items), length),
        depth=np.tile(np.arange(length), n_items),
    )


def paired(one: Int[Tensor, "item pos"], other: Int[Tensor, "item pos"]) -> Int[Tensor, "item pos"]:
    """A symbol for each pair of symbols."""
    return one * (other.max() + 2) + other + 1


def _wanted(
    symbols: Int[Tensor, "item pos"], n_positions: Int[Tensor, " item"]
) -> Bool[np.ndarray, "item pos"]:
    wanted: np.ndarray = np.arange(symbols.shape[1]) < n_positions[:, None].numpy()
    return wanted
