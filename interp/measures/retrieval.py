"""Retrieval: does a head look at the very token that the model is about to copy from far back?"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from interp.measures.battery import read_patterns
from interp.measures.repeats import words
from interp.models.model import Model
from interp.models.plain import Plain
from interp.models.undefined import UndefinedError

_ASKED = " The secret words are"


@dataclass(frozen=True, kw_only=True)
class Needles:
    """Random words with a statement among them, and at the end the statement once more.

    Attributes:
        prompt: up to where the answer begins.
        answer: the words that were stated.
        place: where the first of them stands in the prompt.
    """

    prompt: Int[Tensor, "item pos"]
    answer: Int[Tensor, "item word"]
    place: int


@dataclass(frozen=True, kw_only=True)
class Retrieval:
    """What heads retrieve on each item.

    Attributes:
        scores: the share of the answer's words whose place a head attended to most at the time,
            0 to 1; each place counts once. NaN on an item on which the model fails.
        accuracy: the share of the answer's words that the model gave.
    """

    scores: Float[Tensor, "item layer head"]
    accuracy: Float[Tensor, " item"]


def needles(
    model: Model, *, n_words: int = 4, length: int = 60, n_items: int = 8, seed: int = 0
) -> Needles:
    """Prompts of random words around `The secret words are …`, at a place that all items share."""
    pool = words(model)
    generator = torch.Generator().manual_seed(seed)
    asked = torch.tensor(model.tokenizer(_ASKED, add_special_tokens=False)["input_ids"])
    drawn = torch.stack(
        [pool[torch.randperm(len(pool), generator=generator)[:length]] for _ in range(n_items)]
    )
    before = torch.tensor(model.prefix.before, dtype=torch.long).expand(n_items, -1)
    question = asked.expand(n_items, -1)
    answer, hay = drawn[:, :n_words], drawn[:, n_words:]
    half = hay.shape[1] // 3
    prompt = torch.cat([before, hay[:, :half], question, answer, hay[:, half:], question], dim=1)
    return Needles(prompt=prompt, answer=answer, place=before.shape[1] + half + len(asked))


def with_other_words(needles: Needles) -> Needles:
    """The control: each item states another item's words, and its own answer is still asked.

    A head that attends there for the place and not for the words scores as before.
    """
    prompt, n_words = needles.prompt.clone(), needles.answer.shape[1]
    stated = needles.place + torch.arange(n_words)
    prompt[:, stated] = needles.answer.roll(1, dims=0)
    return Needles(prompt=prompt, answer=needles.answer, place=needles.place)


def retrieval(model: Model, needles: Needles, *, keep_failed: bool = False) -> Retrieval:
    """Teacher-forced: prompt and answer in one forward, each word read at the token before it.

    Args:
        keep_failed: score items on which the model fails too, as on `with_other_words`.

    Raises:
        UndefinedError: the model does not predict the next token.

    Source: Wu et al. 2024, arXiv:2404.15574, who let the model generate; places are a set here,
    so that a word copied twice counts once.
    """
    _require_next_token(model)
    ids = torch.cat([needles.prompt, needles.answer], dim=1)
    n_words, start = needles.answer.shape[1], needles.prompt.shape[1] - 1
    asks = slice(start, start + n_words)
    stated = needles.place + torch.arange(n_words)
    by_layer: list[Tensor] = []

    def read(layer: int, pattern: Tensor) -> None:
        by_layer.append((pattern[:, :, asks].argmax(-1) == stated).float().mean(-1))

    read_patterns(model.plain, ids, read)
    said = _likeliest(model.plain, ids, asks)
    accuracy = (said == needles.answer).float().mean(-1)
    return _retrieval(torch.stack(by_layer, dim=1), accuracy, keep_failed=keep_failed)


def generated_retrieval(model: Model, needles: Needles) -> Retrieval:
    """As `retrieval`, but the model goes on by itself, one likeliest word after the other.

    A place counts where a head attends to it most while the token generated is the one that stands
    there. Accuracy is the share of the answer's words among those generated.

    Raises:
        UndefinedError: the model does not predict the next token.

    Source: Wu et al. 2024, arXiv:2404.15574.
    """
    _require_next_token(model)
    n_words = needles.answer.shape[1]
    stated = needles.place + torch.arange(n_words)
    ids, hits = needles.prompt, None
    for _ in range(n_words):
        attended: list[Tensor] = []

        def read(layer: int, pattern: Tensor, into: list[Tensor] = attended) -> None:
            into.append(pattern[:, :, -1].argmax(-1))

        read_patterns(model.plain, ids, read)
        following = _likeliest(model.plain, ids, slice(-1, None))[:, 0]
        is_word = needles.answer == following[:, None]
        at = torch.stack(attended, dim=1)[..., None] == stated
        now = at & is_word[:, None, None, :]
        hits = now if hits is None else hits | now
        ids = torch.cat([ids, following[:, None]], dim=1)
    assert hits is not None
    given = ids[:, -n_words:]
    found = (needles.answer[:, :, None] == given[:, None, :]).any(-1)
    return _retrieval(hits.float().mean(-1), found.float().mean(-1), keep_failed=False)


def _require_next_token(model: Model) -> None:
    if not model.is_causal or model.plain.anatomy.unembedding is None:
        raise UndefinedError(
            f"{model.name} predicts no next token, so there is no copying from far back to watch."
        )


def _retrieval(
    scores: Float[Tensor, "item layer head"], accuracy: Float[Tensor, " item"], *, keep_failed: bool
) -> Retrieval:
    succeeded: Bool[Tensor, " item"] = accuracy > 0.5
    kept = succeeded | keep_failed
    return Retrieval(scores=torch.where(kept[:, None, None], scores, torch.nan), accuracy=accuracy)


def _likeliest(
    plain: Plain, ids: Int[Tensor, "item pos"], places: slice
) -> Int[Tensor, "item place"]:
    """The likeliest token after each of some places; the others are not unembedded."""
    with torch.inference_mode():
        states = plain.last_block(ids)[:, places]
        logits = plain.readout(states.flatten(0, 1), None)
    return logits.argmax(-1).view(states.shape[:2])
