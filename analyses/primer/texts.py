"""Ordinary prose as tokens, and how well a model goes on with it."""

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from interp.models import Model
from interp.models.plain import Attend, attend
from interp.tasks.lexicon import Record, load
from interp.tokens import text_ids


class _Data(Record):
    passages: tuple[str, ...]


def passages(model: Model, *, n_texts: int, n_tokens: int) -> Int[Tensor, "text pos"]:
    """The beginnings of the first passages under the model's prefix, all of one length.

    Raises:
        ValueError: there are not so many passages, or one is shorter.
    """
    texts = load("passages.toml", _Data).passages[:n_texts]
    ids = [text_ids(text, model.tokenizer)[:n_tokens] for text in texts]
    if len(ids) < n_texts or min(map(len, ids)) < n_tokens:
        raise ValueError(
            f"data/passages.toml has {len(texts)} of {n_texts} passages, the shortest of "
            f"{min(map(len, ids))} tokens; ask for fewer or shorter ones than {n_tokens}."
        )
    before, after = list(model.prefix.before), list(model.prefix.after)
    return torch.tensor([[*before, *each, *after] for each in ids])


def halves() -> list[tuple[str, str]]:
    """Each passage cut in two, behind the sentence that ends nearest to its middle."""
    pairs = []
    for text in load("passages.toml", _Data).passages:
        ends = [place + 1 for place, sign in enumerate(text[:-1]) if sign in ".!?"]
        middle = min(ends, key=lambda place: abs(place - len(text) / 2))
        pairs.append((text[:middle], text[middle:].strip()))
    return pairs


def next_token_losses(
    model: Model, ids: Int[Tensor, "text pos"], attending: Attend = attend
) -> Float[np.ndarray, " text"]:
    """Mean loss on the next token of each text in nats, with another attention if one is given."""
    with torch.inference_mode(), model.plain.attending(attending):
        states = model.plain.last_block(ids)[:, :-1]
        logits = model.plain.readout(states.flatten(0, 1), None).float()
    loss = torch.nn.functional.cross_entropy(logits, ids[:, 1:].flatten(), reduction="none")
    return loss.view(len(ids), -1).mean(1).double().numpy()


def last_token_losses(
    model: Model, ids: Int[Tensor, "text pos"], attending: Attend = attend
) -> Float[np.ndarray, " text"]:
    """Loss on the last token of each text, which the model is not given, in nats."""
    with torch.inference_mode(), model.plain.attending(attending):
        states = model.plain.last_block(ids[:, :-1])[:, -1]
        logits = model.plain.readout(states, None).float()
    loss: np.ndarray = (
        torch.nn.functional.cross_entropy(logits, ids[:, -1], reduction="none").double().numpy()
    )
    return loss
