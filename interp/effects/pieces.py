"""A sweep cut to a memory budget: items first, then variants."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from interp.effects.baselines import Baseline
from interp.effects.scopes import AnyScope
from interp.effects.work import Work, prepare
from interp.encode import Batch
from interp.models.memory import bytes_a_row, bytes_a_state, default_budget
from interp.models.plain import Plain
from interp.models.routes import route

ROWS_A_BATCH = 2048
"""Rows that are run through a layer at once: enough for fast products, few enough for the cache."""


@dataclass(frozen=True)
class Limits:
    """What may be held at once.

    Attributes:
        memory: in bytes.
        rows_a_batch: run through a layer at once.
    """

    memory: int
    rows_a_batch: int


@dataclass(frozen=True)
class Piece:
    """Items that are run together, so many variants at a time."""

    work: Work
    n_variants: int
    bytes: int


def limits(plain: Plain, memory: int | None) -> Limits:
    """The limits under a budget in bytes; half of what is free when None.

    Raises:
        ValueError: the budget is not positive.
    """
    budget = default_budget(plain) if memory is None else memory
    if budget <= 0:
        raise ValueError(f"memory must be a positive number of bytes, got {budget}.")
    return Limits(budget, max(1, min(ROWS_A_BATCH, budget // 4 // bytes_a_row(plain))))


def pieces(
    plain: Plain,
    batch: Batch,
    items: Int[Tensor, " item"],
    scope: AnyScope,
    baseline: Baseline,
    n_variants: int,
    within: Limits,
) -> Iterator[Piece]:
    """The work on some items, as pieces that fit into memory, each prepared when it is its turn.

    Raises:
        ValueError: a single item does not fit, or cannot be edited (see `prepare`).
    """
    order = np.lexsort(batch.ids[items].numpy().T[::-1])  # prompts that share prefixes together
    waiting = [items[torch.from_numpy(order)]]
    while waiting:
        items = waiting.pop()
        work = prepare(
            plain, batch, scope, baseline, items,
            shares=route(plain).shares_prefixes, rows_a_batch=within.rows_a_batch,
        )  # fmt: skip
        fixed, a_variant = _bytes(plain, work, within)
        n_at_once = min(n_variants, (within.memory - fixed) // a_variant)
        if n_at_once < min(n_variants, 64) and len(items) > 1:
            half = (len(items) + 1) // 2
            waiting += [items[half:], items[:half]]
        elif n_at_once < 1:
            item = batch.items[int(items[0])]
            raise ValueError(
                f"item {item.item_id} needs {(fixed + a_variant) / 1e6:.0f} MB and the budget is "
                f"{within.memory / 1e6:.0f} MB; give more memory, or shorter texts."
            )
        else:
            yield Piece(work, int(n_at_once), fixed + int(n_at_once) * a_variant)


def _bytes(plain: Plain, work: Work, within: Limits) -> tuple[int, int]:
    """What a piece takes however many variants it has, and what each variant adds."""
    at_once = len(work.start.grown) + max(work.n_rows, within.rows_a_batch)
    fixed = at_once * bytes_a_row(plain)
    return fixed, (work.n_rows + len(work.items)) * bytes_a_state(plain)
