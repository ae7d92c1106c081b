"""The task-free battery: what each head does on a block of random tokens and its repeat."""

from dataclasses import dataclass

import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor

from interp.heads import Head
from interp.models.model import Model

LEAST_WORDS = 100


@dataclass(frozen=True, kw_only=True)
class Repeats:
    """Sequences of a prefix token, a block of random tokens, and the same block again.

    Attributes:
        ids: with one token before the first block.
        period: length of the block.
    """

    ids: Int[Tensor, "item pos"]
    period: int


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
    pool = _words(model)
    generator = torch.Generator().manual_seed(seed)
    blocks = torch.stack(
        [pool[torch.randperm(len(pool), generator=generator)[:period]] for _ in range(n_items)]
    )
    before = torch.full((n_items, 1), model.prefix.before[0])
    return Repeats(ids=torch.cat([before, blocks, blocks], dim=1), period=period)


def why_no_repeats(model: Model) -> str:
    """Why random repeats cannot be made for a model; empty where they can.

    The arithmetic of positions needs exactly one token before the text, and random blocks need
    words to choose from.
    """
    n_before, n_after = len(model.prefix.before), len(model.prefix.after)
    if (n_before, n_after) != (1, 0):
        return (
            "the battery needs exactly one token before the text and none after it; prefix "
            f"{model.prefix.policy!r} has {n_before} and {n_after}."
        )
    if len(_words(model)) < LEAST_WORDS:
        return (
            f"the battery needs {LEAST_WORDS} or more lowercase words with a leading space in the "
            f"vocabulary, this one leaves {len(_words(model))}."
        )
    return ""


def battery(model: Model, repeats: Repeats) -> pd.DataFrame:
    """Scores of every head on repeated blocks, one row a head, each a mean probability.

    - `previous_token`: attention to the token before, where that is not position 0.
    - `duplicate`: in the second block, attention to the same token in the first.
    - `induction`: in the second block, attention to the token after that one. The last query of
      the block is left out; with two blocks, both conventions for repeats coincide.
    - `first_token`: attention to position 0, of all later queries.

    Sources: Olsson et al. 2022, arXiv:2209.11895 (with its correction: the follower is the
    target).
    """
    period = repeats.period
    means: dict[str, list[Float[Tensor, " head"]]] = {
        "previous_token": [],
        "duplicate": [],
        "induction": [],
        "first_token": [],
    }

    def read(layer: int, name: str, tensor: Tensor) -> Tensor:
        if name == "pattern":
            means["previous_token"].append(_offset(tensor, 1)[..., 1:].mean((0, 2)))
            means["duplicate"].append(_offset(tensor, period)[..., 1:].mean((0, 2)))
            means["induction"].append(_offset(tensor, period - 1)[..., 2:-1].mean((0, 2)))
            means["first_token"].append(tensor[:, :, 1:, 0].mean((0, 2)))
        return tensor

    with torch.inference_mode(), model.plain.hooked(read):
        model.plain.states(repeats.ids)
    columns = {name: torch.cat(values).double().numpy() for name, values in means.items()}
    labels = [Head(*head).label for head in model.heads]
    heads = pd.DataFrame(model.heads, columns=["layer", "head"])
    return heads.assign(label=labels, **columns)


def repeat_losses(model: Model, repeats: Repeats) -> tuple[float, float]:
    """Mean loss in nats on the first and on the second block; no drop, no induction to explain.

    Raises:
        ValueError: the model sees the next token, so that its loss on it says nothing.
    """
    if not model.is_causal:
        raise ValueError(
            f"{model.name} is bidirectional and sees the token that a next-token loss is about; "
            "mask a position and read the answer there instead."
        )
    with torch.inference_mode():
        logits = model.plain(repeats.ids).logits[:, :-1]
        loss = torch.nn.functional.cross_entropy(
            logits.flatten(0, 1), repeats.ids[:, 1:].flatten(), reduction="none"
        ).view(len(repeats.ids), -1)
    return loss[:, : repeats.period].mean().item(), loss[:, repeats.period :].mean().item()


def _offset(
    pattern: Float[Tensor, "item head query key"], distance: int
) -> Float[Tensor, "item head pos"]:
    """Attention to the key `distance` before each query that has one."""
    return torch.diagonal(pattern, offset=-distance, dim1=2, dim2=3)


def _words(model: Model) -> Int[Tensor, " word"]:
    """Ids of lowercase words with a leading space, the extreme 4 % at each end left out."""
    vocabulary = model.tokenizer.get_vocab()
    words = sorted(
        number
        for piece, number in vocabulary.items()
        if piece[:1] in ("Ġ", "▁") and piece[1:].isascii() and piece[1:].isalpha()
        and piece[1:].islower()
    )  # fmt: skip
    margin = round(0.04 * len(words))
    return torch.tensor(words[margin : len(words) - margin])
