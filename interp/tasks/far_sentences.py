"""Sentences at a distance: a pronoun, a verb or a last word, far from what decides it."""

from typing import Any

from interp.tasks.choices import GENDERS
from interp.tasks.design import crossed
from interp.tasks.distance import FarPair, FarWording, Side
from interp.tasks.features import Forms
from interp.tasks.frames import SPLITS, Halves
from interp.tasks.lexicon import MIN_FORMS, Record, Text, load, single_token
from interp.tasks.turns import shuffled

_NUMBERS = ("singular", "plural")
_N_NOUNS = 16
"""So many of a split, so that nouns come again, with the filler that they had, soon."""


class FlipWording(FarWording):
    """A wording whose tail has the slot flip: the pronoun of a man, then that of a woman."""

    flip: tuple[Text, Text]


class Ends(Record):
    """What decides the last word of a sentence, and the word."""

    countries: Halves[Forms]
    wordings: tuple[FarWording, FarWording, FarWording, FarWording]


class _People(Record, extra="ignore"):
    """Of `data/coreference_frames.toml`, what is used here."""

    men: Halves[str]
    women: Halves[str]


class _Subjects(Record, extra="ignore"):
    """Of `data/agreement_frames.toml`, what is used here."""

    verbs: tuple[Forms, ...]
    nouns: Halves[Forms]


def coreference_pairs(
    wordings: tuple[FlipWording, ...], tokenizer: Any, n_pairs: int, seed: int
) -> list[FarPair]:
    """A man and a woman, filler without names and pronouns, and a pronoun that means one of them.

    The answer is the name. Balanced: wording and order of the names.
    """
    names = load("coreference_frames.toml", _People)
    men, women = (
        [
            shuffled(lexicon.usable(split, tokenizer, slot=slot), f"{seed}.{slot}")
            for split in SPLITS
        ]
        for slot, lexicon in (("men", names.men), ("women", names.women))
    )
    couples = [crossed(men[split], women[split], n_pairs) for split in (0, 1)]
    pairs: list[FarPair] = []
    for index in range(n_pairs):
        split, turn = index % 2, index // 2
        man, woman = couples[split][turn]
        rounds = turn // len(men[split])
        wording = wordings[2 * split + (turn + rounds) % 2]
        man_first = (turn // 2 + rounds // 2) % 2 == 0
        first, second = (man, woman) if man_first else (woman, man)
        words = {"name1": first, "name2": second}
        order = "man first" if man_first else "woman first"
        sides = [
            Side(
                words={**words, "flip": wording.flip[gender]},
                source="name1" if (gender == 0) == man_first else "name2",
                distractors=("name2" if (gender == 0) == man_first else "name1",),
                answer=(man, woman)[gender],
                labels={
                    "order": order,
                    "source_gender": GENDERS[gender],
                    "source_slot": "first" if (gender == 0) == man_first else "second",
                },
            )
            for gender in (0, 1)
        ]
        pairs.append(
            FarPair(
                pair_id=f"far_coreference.{index:04d}",
                wording=wording,
                split=SPLITS[split],
                clusters=(f"man:{man}", f"woman:{woman}"),
                clean=sides[0],
                corrupt=sides[1],
                nearest="name2",
                stream=f"{seed}.far_coreference.{index}",
                relations={"antecedent": "flip"},
            )
        )
    return pairs


def agreement_pairs(
    wordings: tuple[FarWording, ...], tokenizer: Any, n_pairs: int, seed: int
) -> list[FarPair]:
    """A subject, a parenthesis without people, and its verb; the subject's number flips."""
    lexicon = load("agreement_frames.toml", _Subjects)
    nouns = [
        shuffled(lexicon.nouns.usable(split, tokenizer, slot="nouns"), f"{seed}.nouns")[:_N_NOUNS]
        for split in SPLITS
    ]
    verbs = shuffled(
        single_token(lexicon.verbs, tokenizer, slot="verbs", at_least=MIN_FORMS), f"{seed}.verbs"
    )
    pairs: list[FarPair] = []
    for index in range(n_pairs):
        split, turn = index % 2, index // 2
        # a noun keeps its wording and its filler when its turn comes again, with another verb
        rounds, place = divmod(turn, len(nouns[split]))
        noun = nouns[split][place]
        verb = verbs[(place // 2 + rounds) % len(verbs)]
        clean, corrupt = (
            Side(
                words={"noun": noun[number]},
                source="noun",
                distractors=(),
                answer=verb[number],
                labels={"source_number": _NUMBERS[number]},
            )
            for number in (0, 1)
        )
        pairs.append(
            FarPair(
                pair_id=f"far_agreement.{index:04d}",
                wording=wordings[2 * split + place % 2],
                split=SPLITS[split],
                clusters=(f"noun:{noun[0]}",),
                clean=clean,
                corrupt=corrupt,
                nearest="noun",
                stream=f"{seed}.far_agreement.{noun[0]}",
            )
        )
    return pairs


def end_pairs(data: Ends, tokenizer: Any, n_pairs: int, seed: int) -> list[FarPair]:
    """A sentence that begins with a country and ends with its capital; the country flips.

    The filler is that of the wording, whatever the country.
    """
    countries = [
        shuffled(data.countries.usable(split, tokenizer, slot="countries"), f"{seed}.countries")
        for split in SPLITS
    ]
    pairs: list[FarPair] = []
    for index in range(n_pairs):
        split, turn = index % 2, index // 2
        rounds = turn // len(countries[split])
        wording = data.wordings[2 * split + (turn + rounds) % 2]
        one, other = crossed(countries[split], countries[split], turn + 1)[turn]
        clean, corrupt = (
            Side(
                words={"country": country},
                source="country",
                distractors=(),
                answer=capital,
                labels={"source": "country"},
            )
            for country, capital in (one, other)
        )
        pairs.append(
            FarPair(
                pair_id=f"sentence_end.{index:04d}",
                wording=wording,
                split=SPLITS[split],
                clusters=(f"country1:{one[0]}", f"country2:{other[0]}"),
                clean=clean,
                corrupt=corrupt,
                nearest="country",
                stream=f"{seed}.sentence_end.{wording.id}",
            )
        )
    return pairs
