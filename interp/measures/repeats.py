"""Sequences of a random block and its repeat: what the task-free battery is measured on."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from interp.models.model import Model

LEAST_WORDS = 100


@dataclass(frozen=True, kw_only=True)
class Repeats:
    """Sequences of a prefix token, a block of random tokens, and the same block again.

    Attributes:
        ids: with one token before the first block, and `n_after` behind the second.
        period: length of the block.
    """

    ids: Int[Tensor, "item pos"]
    period: int
    n_after: int = 0

    @property
    def special(self) -> Bool[Tensor, "item pos"]:
        """Prefix and suffix."""
        mask = torch.zeros_like(self.ids, dtype=torch.bool)
        mask[:, 0] = True
        mask[:, 1 + 2 * self.period :] = True
        return mask


def repeats(model: Model, *, period: int = 50, n_items: int = 10, seed: int = 0) -> Repeats:
    """Random repeats under the model's prefix, without replacement within a block.

    Tokens are words that begin with a space, and of these not the 4 % that were merged first nor
    the 4 % merged last.

    Raises:
        ValueError: the model has no such sequences (see `why_no_repeats`).
    """
    reason = why_no_repeats(model)
    if reason:
        raise ValueError(reason)
    pool = words(model)
    generator = torch.Generator().manual_seed(seed)
    blocks = torch.stack(
        [pool[torch.randperm(len(pool), generator=generator)[:period]] for _ in range(n_items)]
    )
    before = torch.full((n_items, 1), model.prefix.before[0])
    after = torch.tensor(model.prefix.after, dtype=torch.long).expand(n_items, -1)
    ids = torch.cat([before, blocks, blocks, after], dim=1)
    return Repeats(ids=ids, period=period, n_after=after.shape[1])


def why_no_repeats(model: Model) -> str:
    """Why random repeats cannot be made for a model; empty where they can.

    The arithmetic of positions needs exactly one token before the text, and random blocks need
    words to choose from.
    """
    n_before = len(model.prefix.before)
    if n_before != 1:
        return (
            "the battery needs exactly one token before the text; prefix "
            f"{model.prefix.policy!r} has {n_before}."
        )
    if len(words(model)) < LEAST_WORDS:
        return (
            f"the battery needs {LEAST_WORDS} or more lowercase words with a leading space in the "
            f"vocabulary, this one leaves {len(words(model))}."
        )
    return ""


def words(model: Model) -> Int[Tensor, " word"]:
    """Ids of lowercase words with a leading space, the extreme 4 % at each end left out.

    In a vocabulary that marks the inside of words and not their beginning, such as BERT's, the
    pieces without that mark.
    """
    vocabulary = model.tokenizer.get_vocab()
    marks_beginnings = any(piece[:1] in ("Ġ", "▁") for piece in vocabulary)
    found = sorted(
        number
        for piece, number in vocabulary.items()
        if _is_word(piece[1:] if marks_beginnings else piece)
        and (not marks_beginnings or piece[:1] in ("Ġ", "▁"))
    )
    margin = round(0.04 * len(found))
    return torch.tensor(found[margin : len(found) - margin])


def _is_word(piece: str) -> bool:
    return piece.isascii() and piece.isalpha() and piece.islower()
