"""Sentences at a distance: a pronoun, a verb or a last word, far from what decides it."""

from typing import Any

from interp.items import Corruption
from interp.tasks.choices import GENDERS
from interp.tasks.design import crossed
from interp.tasks.distance import FarPair, FarWording, Side
from interp.tasks.features import Forms
from interp.tasks.frames import SPLITS, Halves
from interp.tasks.lexicon import MIN_FORMS, Record, Text, load, single_token
from interp.tasks.turns import dealt, shuffled

_NUMBERS = ("singular", "plural")
_N_NOUNS = 16
"""So many of a split, so that nouns come again, with the filler that they had, soon."""


class FlipWording(FarWording):
    """A wording whose tail has the slot flip: the pronoun of a man, then that of a woman.

    Attributes:
        neutral: a word in its place that means neither.
    """

    flip: tuple[Text, Text]
    neutral: Text


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
    neutral: Halves[str]


def coreference_pairs(
    wordings: tuple[FlipWording, ...],
    tokenizer: Any,
    n_pairs: int,
    seed: int,
    corruption: Corruption,
) -> list[FarPair]:
    """A man and a woman, filler without names and pronouns, and a pronoun that means one of them.

    The answer is the name. Balanced: wording and order of the names; in a `removal`, where the
    pronoun gives way to a word that means neither, also the gender of the pronoun.
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
        sides = tuple(
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
        )
        if corruption is Corruption.REMOVAL:
            meant = turn // 4 % 2
            sides = sides[meant].removal("flip", wording.neutral, foil=(woman, man)[meant])
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
    wordings: tuple[FarWording, ...],
    tokenizer: Any,
    n_pairs: int,
    seed: int,
    corruption: Corruption,
) -> list[FarPair]:
    """A subject, a parenthesis without people, and its verb.

    - `feature_flip`: the subject's number flips.
    - `removal`: the subject, singular in half of the pairs, gives way to a noun that reads the same
      in both numbers.
    """
    lexicon = load("agreement_frames.toml", _Subjects)
    nouns = [
        shuffled(lexicon.nouns.usable(split, tokenizer, slot="nouns"), f"{seed}.nouns")[:_N_NOUNS]
        for split in SPLITS
    ]
    neutral = [
        lexicon.neutral.usable(split, tokenizer, slot="neutral nouns", at_least=MIN_FORMS)
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
        sides = tuple(
            Side(
                words={"noun": noun[number]},
                source="noun",
                distractors=(),
                answer=verb[number],
                labels={"source_number": _NUMBERS[number]},
            )
            for number in (0, 1)
        )
        if corruption is Corruption.REMOVAL:
            # each noun, verb and wording in both numbers, as soon as they come again
            number = (place // 2 + place + rounds) % 2
            (unnumbered,) = dealt(neutral[split], 1, turn, key=f"{seed}.neutral.{split}")
            sides = sides[number].removal("noun", unnumbered, foil=verb[1 - number])
        pairs.append(
            FarPair(
                pair_id=f"far_agreement.{index:04d}",
                wording=wordings[2 * split + place % 2],
                split=SPLITS[split],
                clusters=(f"noun:{noun[0]}",),
                clean=sides[0],
                corrupt=sides[1],
                nearest="noun",
                stream=f"{seed}.far_agreement.{noun[0]}",
            )
        )
    return pairs


def end_pairs(
    data: Ends, tokenizer: Any, n_pairs: int, seed: int, corruption: Corruption
) -> list[FarPair]:
    """A sentence that begins with a country and ends with its capital.

    - `feature_flip`: the country gives way to the one whose capital is the foil.
    - `removal`: to a third, whose capital is neither answer nor foil.

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
        n_countries = len(countries[split])
        partners = crossed(countries[split], countries[split], turn + n_countries + 1)
        (one, other), (_, third) = partners[turn], partners[turn + n_countries]
        sides = tuple(
            Side(
                words={"country": country},
                source="country",
                distractors=(),
                answer=capital,
                labels={"source": "country"},
            )
            for country, capital in (one, other)
        )
        if corruption is Corruption.REMOVAL:
            sides = sides[0].removal("country", third[0], foil=other[1])
        pairs.append(
            FarPair(
                pair_id=f"sentence_end.{index:04d}",
                wording=wording,
                split=SPLITS[split],
                clusters=(f"country1:{one[0]}", f"country2:{other[0]}"),
                clean=sides[0],
                corrupt=sides[1],
                nearest="country",
                stream=f"{seed}.sentence_end.{wording.id}",
            )
        )
    return pairs
