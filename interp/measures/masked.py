"""Answers at a mask: what a masked language model prefers, one piece against one piece."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
import torch

from interp.items import Span
from interp.models.model import Model
from interp.tokens import in_place_of


def masked_differences(model: Model, questions: Sequence[tuple[str, str, str]]) -> pd.DataFrame:
    """The logit of the answer less that of the foil, at the mask of each text.

    One row a question: `text`, `answer`, `foil`, `logit_difference`, and `reason`. A question whose
    answer or foil is not one piece, or is unknown to the vocabulary, is skipped: its difference is
    NaN and its reason says why, so that what was left out can be counted.

    Args:
        questions: text with the tokenizer's mask token once, answer and foil as they stand there.

    Raises:
        ValueError: the model is no masked language model, or a text has not exactly one mask.
    """
    mask_id = model.tokenizer.mask_token_id
    if model.is_causal or model.plain.anatomy.unembedding is None or mask_id is None:
        raise ValueError(
            f"{model.name} is no masked language model; for a causal one read the answer at the "
            "last token."
        )
    return pd.DataFrame([_row(model, mask_id, *question) for question in questions])


def _row(model: Model, mask_id: int, text: str, answer: str, foil: str) -> dict[str, Any]:
    ids = model.tokenizer(text, add_special_tokens=False).input_ids
    ids = [*model.prefix.before, *ids, *model.prefix.after]
    if ids.count(mask_id) != 1:
        raise ValueError(
            f"expected one {model.tokenizer.mask_token} in {text!r}, got {ids.count(mask_id)}."
        )
    row = {"text": text, "answer": answer, "foil": foil}
    start = text.index(model.tokenizer.mask_token)
    mask = Span(start, start + len(model.tokenizer.mask_token))
    pieces = {word: in_place_of(mask, text, word, model.tokenizer) for word in (answer, foil)}
    reasons = [
        f"{word!r} is {len(found)} pieces, expected one"
        if len(found) != 1
        else f"{word!r} is unknown"
        for word, found in pieces.items()
        if len(found) != 1 or found[0] == model.tokenizer.unk_token_id
    ]
    if reasons:
        return {**row, "logit_difference": float("nan"), "reason": "; ".join(reasons)}
    with torch.inference_mode():
        logits = model.plain(torch.tensor([ids])).logits[0, ids.index(mask_id)]
    difference = logits[pieces[answer][0]] - logits[pieces[foil][0]]
    return {**row, "logit_difference": difference.item(), "reason": ""}
