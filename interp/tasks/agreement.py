"""Subject–verb agreement: one word decides which of two nouns governs the next verb."""

from collections.abc import Iterator
from random import Random
from typing import Any

from interp.items import Corruption, Item, Prompt
from interp.tasks import agreement_frames
from interp.tasks.design import balanced_cells, crossed
from interp.tasks.family import Family
from interp.tasks.features import Forms
from interp.tasks.frames import Pair, Split, half_of, in_halves
from interp.tasks.lexicon import (
    MIN_FORMS,
    Record,
    Wording,
    load,
    single_token,
    single_token_wordings,
)
from interp.tasks.wording import fill

_NUMBERS = ("singular", "plural")


class _Data(Record):
    verbs: tuple[Forms, ...]
    nouns: tuple[Forms, ...]
    wordings: tuple[Wording, ...]


def generate(tokenizer: Any, n_pairs: int, seed: int, corruption: Corruption) -> list[Item]:
    """Pairs such as "The farmer beside the senators" (is) and "The farmer knew the senators" (are).

    The two nouns always differ in number. In each half crossed and balanced: wording, number of the
    first noun, and verb.
    """
    data = load("agreement.toml", _Data)
    verbs = single_token(data.verbs, tokenizer, slot="verbs", at_least=MIN_FORMS)
    usable = single_token_wordings(data.wordings, tokenizer)
    rng = Random(seed)

    def pairs(split: Split, n_of_half: int) -> Iterator[Pair]:
        wordings = [each for each in half_of(data.wordings, split) if each in usable]
        nouns = single_token(half_of(data.nouns, split), tokenizer, slot=f"nouns, {split}")
        rng.shuffle(nouns)
        cells = balanced_cells(n_of_half, rng, wordings, (0, 1), verbs)
        for cell, lexemes in zip(cells, crossed(nouns, nouns, n_of_half), strict=True):
            wording, number, verb = cell
            yield _pair(wording, number, verb, *lexemes)

    return in_halves("agreement", n_pairs, corruption, pairs)


def _pair(wording: Wording, number: int, verb: Forms, noun1: Forms, noun2: Forms) -> Pair:
    words = {"noun1": noun1[number], "noun2": noun2[1 - number]}
    phrase, clause = wording.flip
    clean_text, clean = fill(wording.text, words | {"flip": phrase})
    corrupt_text, corrupt = fill(wording.text, words | {"flip": clause})
    answers = f" {verb[number]}", f" {verb[1 - number]}"
    lexemes = {"noun1": noun1[0], "noun2": noun2[0]}
    return Pair(
        Prompt(
            text=clean_text,
            answer=answers[0],
            foil=answers[1],
            source=clean["noun1"],
            distractors=clean["noun2"],
            labels={"source_slot": "first", "source_number": _NUMBERS[number]},
            lexemes=lexemes,
        ),
        Prompt(
            text=corrupt_text,
            answer=answers[1],
            foil=answers[0],
            source=corrupt["noun2"],
            distractors=corrupt["noun1"],
            labels={"source_slot": "second", "source_number": _NUMBERS[1 - number]},
            lexemes=lexemes,
        ),
        wording.id,
        (f"noun1:{noun1[0]}", f"noun2:{noun2[0]}"),
    )


FAMILIES = (
    Family(name="agreement", corruptions=(Corruption.ROLE_FLIP,), generate=generate),
    *agreement_frames.FAMILIES,
)
