"""Rows of a forest cut into blocks: neighbours in the walk see nearly the same keys."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int

from interp.models.forest import Forest

FEW_KEYS = 64
ROWS_A_BLOCK = 64
SCORES_A_SLICE = 2**18


@dataclass(frozen=True, eq=False)
class Slice:
    """Blocks padded to one size. A block's keys are its own ones, then the stored ones.

    Attributes:
        rows, own: places among the rows.
        stored: nodes of the intact run.
        sees: which keys a row sees, as far as the forest goes.
        query_at, key_at: the positions at which they stand.
    """

    rows: Int[np.ndarray, "block query"]
    own: Int[np.ndarray, "block own"]
    stored: Int[np.ndarray, "block stored"]
    sees: Bool[np.ndarray, "block query key"]
    query_at: Int[np.ndarray, "block query"]
    key_at: Int[np.ndarray, "block key"]


@dataclass(frozen=True, eq=False)
class _Block:
    rows: Int[np.ndarray, " query"]
    own: Int[np.ndarray, " own"]
    stored: Int[np.ndarray, " stored"]


def slices(
    grown: Forest,
    nodes: Int[np.ndarray, " row"],
    *,
    own: Int[np.ndarray, " node"],
    stored: Int[np.ndarray, " node"],
    n_variants: int,
) -> list[Slice]:
    """Rows as blocks of one size each, so few that the scores of one slice stay small.

    Args:
        nodes: the rows, in any order; a node may stand there twice.
        own: for each node its place among the rows, −1 if it is none of them.
        stored: for each node that is no row, the node of the intact run that answers for it.
        n_variants: how many variants are run at once.
    """
    blocks = [
        _Block(rows=rows, own=keys[own[keys] >= 0], stored=keys[own[keys] < 0])
        for rows, keys in _blocks(grown, nodes)
    ]
    blocks.sort(key=lambda block: (len(block.stored), len(block.own)))
    return [_padded(grown, nodes, group, own, stored) for group in _groups(blocks, n_variants)]


def _blocks(
    grown: Forest, nodes: Int[np.ndarray, " row"]
) -> Iterator[tuple[Int[np.ndarray, " query"], Int[np.ndarray, " key"]]]:
    """Rows in the order of the walk, with the nodes that they see: no node twice in a block."""
    walk = np.argsort(nodes, kind="stable")
    length = grown.depth[nodes[walk]] + 1
    item = grown.item[nodes[walk]]
    shared = _shared_with_previous(grown, item, length)
    start, n_keys = 0, 0
    keys: list[np.ndarray] = []
    for place in range(len(walk)):
        is_full = place > start and (
            place - start >= ROWS_A_BLOCK
            or n_keys + length[place] - shared[place] > max(FEW_KEYS, 1.5 * length[start])
        )
        if is_full:
            yield walk[start:place], np.concatenate(keys)
            start, n_keys, keys = place, 0, []
        first = 0 if place == start else shared[place]
        keys.append(grown.node_of[item[place], first : length[place]])
        n_keys += length[place] - first
    yield walk[start:], np.concatenate(keys)


def _shared_with_previous(
    grown: Forest, item: Int[np.ndarray, " row"], length: Int[np.ndarray, " row"]
) -> Int[np.ndarray, " row"]:
    """How many nodes each row's prefix shares with that of the row before it."""
    shared = np.zeros(len(item), dtype=np.int64)
    same = grown.node_of[item[1:]] == grown.node_of[item[:-1]]
    shared[1:] = np.minimum(same.cumprod(axis=1).sum(axis=1), length[:-1])
    at_most: np.ndarray = np.minimum(shared, length)
    return at_most


def _groups(blocks: list[_Block], n_variants: int) -> Iterator[list[_Block]]:
    group: list[_Block] = []
    for block in blocks:
        larger = [*group, block]
        size = np.prod([max(sizes) for sizes in zip(*map(_sizes, larger), strict=True)])
        if group and n_variants * len(larger) * size > SCORES_A_SLICE:
            yield group
            larger = [block]
        group = larger
    yield group


def _sizes(block: _Block) -> tuple[int, int]:
    return len(block.rows), len(block.own) + len(block.stored)


def _padded(
    grown: Forest,
    nodes: Int[np.ndarray, " row"],
    blocks: list[_Block],
    own: Int[np.ndarray, " node"],
    stored: Int[np.ndarray, " node"],
) -> Slice:
    n_rows, n_own, n_stored = (
        max(len(part) for part in parts)
        for parts in zip(*((block.rows, block.own, block.stored) for block in blocks), strict=True)
    )
    rows = np.stack([_filled(block.rows, n_rows, int(block.rows[0])) for block in blocks])
    keys = np.stack(
        [
            np.concatenate([_filled(block.own, n_own, -1), _filled(block.stored, n_stored, -1)])
            for block in blocks
        ]
    )
    key_at = np.where(keys >= 0, grown.depth[keys], 0)
    path = grown.node_of[grown.item[nodes[rows]]]
    query_at = grown.depth[nodes[rows]]
    on_path = np.take_along_axis(
        path, np.broadcast_to(key_at[:, None], (*rows.shape, key_at.shape[1])), axis=2
    )
    is_there = (keys >= 0)[:, None] & (key_at[:, None] <= query_at[..., None])
    return Slice(
        rows=rows,
        own=np.maximum(own[keys[:, :n_own]], 0),
        stored=np.maximum(stored[keys[:, n_own:]], 0),
        sees=is_there & (on_path == keys[:, None]),
        query_at=query_at,
        key_at=key_at,
    )


def _filled(values: Int[np.ndarray, " one"], size: int, filler: int) -> Int[np.ndarray, " filled"]:
    return np.concatenate([values, np.full(size - len(values), filler, dtype=np.int64)])
