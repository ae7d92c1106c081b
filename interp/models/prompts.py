"""Logits after many prompts, the prefixes that they share run once."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from interp.models.memory import bytes_a_row, default_budget
from interp.models.plain import Plain
from interp.models.routes import route
from interp.models.walk import ground, walk

SLOT = 1024  # prompts whose logits over the whole vocabulary are made at once


def last_logits(
    plain: Plain,
    prompts: Sequence[Sequence[int]],
    columns: Int[Tensor, "prompt column"] | None = None,
    *,
    memory: int | None = None,
) -> Float[Tensor, "prompt column"]:
    """Logits at the last token of each prompt, equal to those of one forward each.

    Each distinct prefix is run once, in pieces of neighbouring prompts that fit into memory. Where
    a model cannot share rows, prompts of equal length are run side by side.

    Args:
        columns: of each prompt, the tokens wanted; the whole vocabulary when None.
        memory: in bytes; half of what is free when None.

    Raises:
        ValueError: there is no prompt, or an empty one.
    """
    if not prompts or not all(len(prompt) for prompt in prompts):
        raise ValueError("expected at least one prompt of at least one token each.")
    budget = default_budget(plain) if memory is None else memory
    n_rows = max(1, budget // bytes_a_row(plain))
    found: dict[int, Tensor] = {}
    for piece in _pieces(prompts, n_rows):
        states = _last_states(plain, [prompts[number] for number in piece])
        for some, numbers in zip(torch.split(states, SLOT), _slots(piece), strict=True):
            with torch.inference_mode():
                chosen = None if columns is None else columns[numbers].to(some.device)
                logits = plain.readout(some, chosen).cpu()
            found |= dict(zip(numbers, logits, strict=True))
    return torch.stack([found[number] for number in range(len(prompts))])


def _last_states(plain: Plain, prompts: list[Sequence[int]]) -> Float[Tensor, "prompt d_model"]:
    ids = torch.tensor([list(prompt) for prompt in prompts], device=plain.module.device)
    n_items, length = ids.shape
    start = ground(plain, ids, torch.full((n_items,), length), shares=route(plain).shares_prefixes)
    *_, last = walk(start)
    return last.after[torch.from_numpy(start.grown.node_of[:, -1]).to(ids.device)]


def _pieces(prompts: Sequence[Sequence[int]], n_rows: int) -> Iterator[list[int]]:
    """Prompts of one length, in order of their tokens, until their rows are too many."""
    by_length: dict[int, list[int]] = defaultdict(list)
    for number, prompt in enumerate(prompts):
        by_length[len(prompt)].append(number)
    for length in sorted(by_length):
        piece: list[int] = []
        n_used = 0
        for number in sorted(by_length[length], key=lambda number: tuple(prompts[number])):
            shared = _n_shared(prompts[piece[-1]], prompts[number]) if piece else 0
            if piece and n_used + length - shared > n_rows:
                yield piece
                piece, n_used, shared = [], 0, 0
            piece.append(number)
            n_used += length - shared
        yield piece


def _slots(piece: list[int]) -> Iterator[list[int]]:
    for first in range(0, len(piece), SLOT):
        yield piece[first : first + SLOT]


def _n_shared(one: Sequence[int], other: Sequence[int]) -> int:
    pairs = zip(one, other, strict=True)
    return next((place for place, (a, b) in enumerate(pairs) if a != b), len(one))
