"""Subject–verb agreement: one word decides which of two nouns governs the next verb."""

from random import Random
from typing import Any

from interp.items import Corruption, Item, Prompt, both_directions
from interp.tasks import agreement_frames
from interp.tasks.design import balanced_cells, crossed
from interp.tasks.family import Family
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
    verbs: tuple[tuple[str, str], ...]
    nouns: tuple[tuple[str, str], ...]
    wordings: tuple[Wording, ...]


def generate(tokenizer: Any, n_pairs: int, seed: int, _: Corruption) -> list[Item]:
    """Pairs such as "The farmer beside the senators" (is) and "The farmer knew the senators" (are).

    The two nouns always differ in number. Crossed and balanced: wording, number of the first noun,
    and verb.
    """
    data = load("agreement.toml", _Data)
    nouns = single_token(data.nouns, tokenizer, slot="nouns")
    verbs = single_token(data.verbs, tokenizer, slot="verbs", at_least=MIN_FORMS)
    wordings = single_token_wordings(data.wordings, tokenizer)

    rng = Random(seed)
    rng.shuffle(nouns)
    cells = balanced_cells(n_pairs, rng, wordings, (0, 1), verbs)
    items: list[Item] = []
    lexemes = crossed(nouns, nouns, n_pairs)
    for index, (cell, (noun1, noun2)) in enumerate(zip(cells, lexemes, strict=True)):
        wording, number, verb = cell
        items += _pair(f"agreement.{index:04d}", wording, number, verb, noun1, noun2)
    return items


def _pair(
    pair_id: str,
    wording: Wording,
    number: int,
    verb: tuple[str, str],
    noun1: tuple[str, str],
    noun2: tuple[str, str],
) -> tuple[Item, Item]:
    words = {"noun1": noun1[number], "noun2": noun2[1 - number]}
    phrase, clause = wording.flip
    clean_text, clean = fill(wording.text, words | {"flip": phrase})
    corrupt_text, corrupt = fill(wording.text, words | {"flip": clause})
    answers = f" {verb[number]}", f" {verb[1 - number]}"
    return both_directions(
        Prompt(
            text=clean_text,
            answer=answers[0],
            foil=answers[1],
            source=clean["noun1"],
            distractors=clean["noun2"],
            labels={"source_slot": "first", "source_number": _NUMBERS[number]},
        ),
        Prompt(
            text=corrupt_text,
            answer=answers[1],
            foil=answers[0],
            source=corrupt["noun2"],
            distractors=corrupt["noun1"],
            labels={"source_slot": "second", "source_number": _NUMBERS[1 - number]},
        ),
        pair_id=pair_id,
        task="agreement",
        template_id=wording.id,
        clusters=(f"noun1:{noun1[0]}", f"noun2:{noun2[0]}"),
    )


FAMILIES = (
    Family(name="agreement", corruptions=(Corruption.ROLE_FLIP,), generate=generate),
    *agreement_frames.FAMILIES,
)
