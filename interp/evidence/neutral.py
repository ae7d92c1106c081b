"""Neutral text: how much worse a model predicts it once heads are removed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from interp.heads import Head
from interp.models.model import Model
from interp.models.undefined import UndefinedError
from interp.tasks.filler import filler_of
from interp.tokens import text_ids

_TEXTS_AT_ONCE = 8


@dataclass(frozen=True, eq=False, kw_only=True)
class NeutralText:
    """Texts of one length, and others over which a head's mean is taken.

    Attributes:
        ids: prefix included.
        reference: none of them among the texts.

    Raises:
        ValueError: a text is among the reference, or their lengths differ.
    """

    ids: Int[Tensor, "text pos"]
    reference: Int[Tensor, "other other_pos"]

    def __post_init__(self) -> None:
        if self.ids.shape[1] != self.reference.shape[1]:
            raise ValueError(
                f"texts and reference must be equally long, got {self.ids.shape[1]} and "
                f"{self.reference.shape[1]} tokens; cut both to one length."
            )
        known = {tuple(ids) for ids in self.reference.tolist()}
        if any(tuple(ids) in known for ids in self.ids.tolist()):
            raise ValueError(
                "a text stands in the reference over which means are taken too; give others."
            )


def neutral_text(model: Model, *, n_texts: int, n_tokens: int, seed: int) -> NeutralText:
    """Sentences of the filler: weather and animals, no person and no present tense, in turn.

    As many texts again are the reference. All are cut to `n_tokens` behind the prefix.

    Raises:
        UndefinedError: the tokenizer does not know their words.
    """
    before = list(model.prefix.before)
    texts: dict[tuple[int, ...], None] = {}
    number = 0
    while len(texts) < 2 * n_texts:
        pool = filler_of(("weather", "haystack")[number % 2], model.tokenizer)
        sentences = pool.sentences(f"{seed}.{number}")
        ids: list[int] = []
        text = ""
        while len(ids) < n_tokens:
            text = f"{text} {next(sentences)}".strip()
            _require_known(text, model.tokenizer)
            ids = text_ids(text, model.tokenizer)
        texts[(*before, *ids[:n_tokens])] = None
        number += 1
    rows = torch.tensor(list(texts))
    return NeutralText(ids=rows[:n_texts], reference=rows[n_texts:])


def _require_known(text: str, tokenizer: Any) -> None:
    unknown = tokenizer.unk_token_id
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    if unknown is not None and unknown in ids:
        raise UndefinedError(
            f"the tokenizer does not know all words of {text!r}, so there is no neutral text for "
            "it; give a `NeutralText` of its own words."
        )


def losses(
    model: Model, text: NeutralText, sets: Sequence[Sequence[Head]]
) -> Float[np.ndarray, "text set"]:
    """Mean loss on each text's next tokens with each set of heads removed together, in nats.

    Everywhere, by each head's mean at each position over the reference.
    """
    means = _means(model, text.reference)
    columns = [
        np.concatenate(
            [_loss(model, ids, heads, means) for ids in torch.split(text.ids, _TEXTS_AT_ONCE)]
        )
        for heads in sets
    ]
    return np.stack(columns, axis=1)


def _means(model: Model, ids: Int[Tensor, "text pos"]) -> list[Float[Tensor, "head pos d_head"]]:
    totals: list[Tensor] = []

    def add(layer: int, name: str, tensor: Tensor) -> Tensor:
        if name == "z":
            if layer == len(totals):
                totals.append(torch.zeros_like(tensor[0]))
            totals[layer] += tensor.sum(0)
        return tensor

    with torch.inference_mode(), model.plain.hooked(add):
        for some in torch.split(ids, _TEXTS_AT_ONCE):
            model.plain.states(some.to(model.plain.module.device))
    return [total / len(ids) for total in totals]


def _loss(
    model: Model,
    ids: Int[Tensor, "text pos"],
    heads: Sequence[Head],
    means: list[Float[Tensor, "head pos d_head"]],
) -> Float[np.ndarray, " text"]:
    def edit(layer: int, name: str, tensor: Tensor) -> Tensor:
        numbers = [head.head for head in heads if head.layer == layer]
        if name != "z" or not numbers:
            return tensor
        edited = tensor.clone()
        edited[:, numbers] = means[layer][numbers]
        return edited

    here = ids.to(model.plain.module.device)
    with torch.inference_mode(), model.plain.hooked(edit):
        states = model.plain.last_block(here)[:, :-1]
        logits = model.plain.readout(states.flatten(0, 1), None).float()
        loss = torch.nn.functional.cross_entropy(logits, here[:, 1:].flatten(), reduction="none")
    return loss.view(len(ids), -1).mean(1).cpu().double().numpy()
