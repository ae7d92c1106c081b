"""Coreference: one word decides which of two people is meant, a man or a woman."""

from collections.abc import Iterator
from random import Random
from typing import Any

from interp.items import Corruption, Item, Prompt
from interp.tasks import coreference_frames
from interp.tasks.design import balanced_cells, crossed
from interp.tasks.family import Family
from interp.tasks.frames import Pair, Split, half_of, in_halves
from interp.tasks.lexicon import Record, Wording, load, single_token, single_token_wordings
from interp.tasks.wording import fill

_GENDERS = ("masculine", "feminine")
_PRONOUNS = (" he", " she")


class _Data(Record):
    men: tuple[str, ...]
    women: tuple[str, ...]
    pronouns: tuple[Wording, ...]
    causes: tuple[Wording, ...]


def generate(tokenizer: Any, n_pairs: int, seed: int, corruption: Corruption) -> list[Item]:
    """Pairs in which both names stay, and a pronoun or a verb says which of them is meant.

    In half of the wordings a pronoun chooses the name ("He said, "My name is": John), in the other
    half a verb chooses the pronoun ("John amazed Mary because": he). In each half of the items
    crossed and balanced: wording, order of the names, and gender of the answer. Plain accuracy is
    pulled to one of the two places; what is told apart is the contrast between clean and corrupt.

    Source: the verbs' bias is implicit causality, Garvey & Caramazza 1974.
    """
    data = load("coreference.toml", _Data)
    wordings = [
        *single_token_wordings(data.pronouns, tokenizer),
        *single_token_wordings(data.causes, tokenizer),
    ]
    rng = Random(seed)

    def pairs(split: Split, n_of_half: int) -> Iterator[Pair]:
        of_half = [
            each
            for kind in (data.pronouns, data.causes)
            for each in half_of(kind, split)
            if each in wordings
        ]
        men, women = (
            single_token(half_of(names, split), tokenizer, slot=f"{slot}, {split}")
            for slot, names in (("men", data.men), ("women", data.women))
        )
        rng.shuffle(men)
        rng.shuffle(women)
        cells = balanced_cells(n_of_half, rng, of_half, (0, 1))
        for (wording, first), names in zip(cells, crossed(men, women, n_of_half), strict=True):
            yield _pair(wording, names, first, pronoun_chooses=wording in data.pronouns)

    return in_halves("coreference", n_pairs, corruption, pairs)


def _pair(wording: Wording, names: tuple[str, str], first: int, *, pronoun_chooses: bool) -> Pair:
    """Both prompts; genders are 0 for masculine and 1 for feminine, `first` that of name1."""
    words = {"name1": names[first], "name2": names[1 - first]}
    clean_text, clean = fill(wording.text, words | {"flip": wording.flip[0]})
    corrupt_text, corrupt = fill(wording.text, words | {"flip": wording.flip[1]})
    slot = ("name1", "name2") if first == 0 else ("name2", "name1")  # of each gender
    gender = 0 if pronoun_chooses else first  # of the source in the clean text
    answers = tuple(f" {name}" for name in names) if pronoun_chooses else _PRONOUNS
    here, there = slot[gender], slot[1 - gender]
    lexemes = {"man": names[0], "woman": names[1]}
    return Pair(
        Prompt(
            text=clean_text,
            answer=answers[gender],
            foil=answers[1 - gender],
            source=clean[here],
            distractors=clean[there],
            labels=_labels(here, gender, first),
            lexemes=lexemes,
        ),
        Prompt(
            text=corrupt_text,
            answer=answers[1 - gender],
            foil=answers[gender],
            source=corrupt[there],
            distractors=corrupt[here],
            labels=_labels(there, 1 - gender, first),
            lexemes=lexemes,
        ),
        wording.id,
        (f"man:{names[0]}", f"woman:{names[1]}"),
    )


def _labels(source: str, gender: int, first: int) -> dict[str, str]:
    return {
        "order": "man first" if first == 0 else "woman first",
        "source_slot": "first" if source == "name1" else "second",
        "source_gender": _GENDERS[gender],
    }


FAMILIES = (
    Family(name="coreference", corruptions=(Corruption.ROLE_FLIP,), generate=generate),
    *coreference_frames.FAMILIES,
)
