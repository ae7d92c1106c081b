"""Coreference, frame by frame; the words and frames are in `data`."""

from collections.abc import Iterator
from functools import partial
from random import Random
from typing import Any

from interp.items import Corruption, Item
from interp.tasks.choices import GENDERS, Choice, Decide, Decider, choice_pairs
from interp.tasks.design import Deck
from interp.tasks.family import Family
from interp.tasks.features import FLIPPED, UNFLIPPED, Feature, Forms, feature_pairs
from interp.tasks.frames import Frame, Halves, Pair, Split, in_halves, usable_frames
from interp.tasks.lexicon import MIN_FORMS, Record, load

_MEANT = (Corruption.ROLE_FLIP, Corruption.REMOVAL)
_FEATURES = {"pronoun": UNFLIPPED, "cause": FLIPPED, "number": FLIPPED, "reflexive": FLIPPED}
_CHOICES = {
    "name": (*_MEANT, Corruption.DISTRACTOR),
    "roles": _MEANT,
    "transfer": _MEANT,
    "binding": _MEANT,
}
_SAME = [(0, 0), (1, 1)]
_DIFFERENT = [(0, 1), (1, 0)]


class _Data(Record):
    men: Halves[str]
    women: Halves[str]
    unmarked: Halves[str]
    animals: Halves[Forms]
    unnumbered: Halves[str]
    things: Halves[str]
    pronouns: dict[str, Forms]
    frames: tuple[Frame, ...]

    def names(self, split: Split, tokenizer: Any) -> tuple[list[str], list[str]]:
        """Men's and women's names of one half."""
        return (
            self.men.usable(split, tokenizer, slot="men"),
            self.women.usable(split, tokenizer, slot="women"),
        )


def _features(
    tokenizer: Any, n_pairs: int, seed: int, corruption: Corruption, *, family: str
) -> list[Item]:
    data = load("coreference_frames.toml", _Data)
    is_number = family == "number"
    feature = Feature(
        name="number" if is_number else "gender",
        levels=("singular", "plural") if is_number else GENDERS,
        slots=("name", "other"),
        answers=(data.pronouns[family],),
        inflects=is_number,
    )
    rng = Random(seed)

    def pairs(split: Split, n_of_half: int) -> Iterator[Pair]:
        frames = usable_frames(data.frames, family, split, tokenizer)
        neutral: list[str] = []
        if is_number:
            words = data.animals.usable(split, tokenizer, slot="animals")
            if corruption is Corruption.REMOVAL:
                neutral = data.unnumbered.usable(
                    split, tokenizer, slot="unnumbered animals", at_least=MIN_FORMS
                )
        else:
            men, women = data.names(split, tokenizer)
            rng.shuffle(men)
            rng.shuffle(women)
            words = list(zip(men, women, strict=False))
            if corruption is Corruption.REMOVAL:
                neutral = data.unmarked.usable(split, tokenizer, slot="unmarked names")
        return feature_pairs(feature, frames, words, neutral, n_of_half, rng, corruption)

    return in_halves(f"coreference/{family}", n_pairs, corruption, pairs)


def _choices(
    tokenizer: Any, n_pairs: int, seed: int, corruption: Corruption, *, family: str
) -> list[Item]:
    data = load("coreference_frames.toml", _Data)
    rng = Random(seed)
    genders = [*_SAME, *_DIFFERENT]
    if family == "name":
        genders = _SAME if corruption is Corruption.DISTRACTOR else _DIFFERENT

    def pairs(split: Split, n_of_half: int) -> Iterator[Pair]:
        frames = usable_frames(data.frames, family, split, tokenizer)
        names = data.names(split, tokenizer)
        decide: Decide
        match family:
            case "name":
                decide = _by_pronoun
            case "roles":
                decide = _by_role
            case "transfer":
                decide = partial(_by_giver, third=Deck([*names[0], *names[1]], rng))
            case _:
                things = data.things.usable(split, tokenizer, slot="things")
                decide = partial(_by_thing, deck=Deck(things, rng), third=Deck(things, rng))
        return choice_pairs(frames, names, decide, n_of_half, rng, corruption, genders=genders)

    return in_halves(f"coreference/{family}", n_pairs, corruption, pairs)


def _by_pronoun(frame: Frame, names: tuple[str, str], genders: tuple[int, int]) -> Choice:
    """He means the man and she the woman; of two men, he means neither more than the other."""
    assert frame.flip is not None
    assert frame.neutral is not None
    is_clear = genders[0] != genders[1]
    first, second = (
        Decider(word=frame.flip[gender], refers_to=(slot,) if is_clear else ())
        for gender, slot in zip(genders, ("name1", "name2"), strict=True)
    )
    return Choice(
        words={"name1": names[0], "name2": names[1]},
        first=first,
        second=second,
        neutral=Decider(word=frame.neutral),
    )


def _by_role(frame: Frame, names: tuple[str, str], _: tuple[int, int]) -> Choice:
    """The teacher is the one who taught."""
    assert frame.flip is not None
    assert frame.neutral is not None
    first, second = (
        Decider(word=word, refers_to=(slot,))
        for word, slot in zip(frame.flip, ("name1", "name2"), strict=True)
    )
    return Choice(
        words={"name1": names[0], "name2": names[1]},
        first=first,
        second=second,
        neutral=Decider(word=frame.neutral),
    )


def _by_giver(_: Frame, names: tuple[str, str], __: tuple[int, int], *, third: Deck) -> Choice:
    """Who gives is named again, so the other receives; a third person may give to either."""
    relation = "earlier mention"
    return Choice(
        words={"name1": names[0], "name2": names[1]},
        first=Decider(word=names[1], refers_to=("name2",), relation=relation),
        second=Decider(word=names[0], refers_to=("name1",), relation=relation),
        neutral=Decider(word=third.deal(1, beside=names)[0]),
    )


def _by_thing(
    _: Frame, names: tuple[str, str], __: tuple[int, int], *, deck: Deck, third: Deck
) -> Choice:
    """The thing named again is the owner's; a third thing is nobody's."""
    relation = "earlier mention"
    thing1, thing2 = deck.deal(2)
    return Choice(
        words={"name1": names[0], "name2": names[1], "thing1": thing1, "thing2": thing2},
        first=Decider(word=thing1, refers_to=("thing1",), relation=relation),
        second=Decider(word=thing2, refers_to=("thing2",), relation=relation),
        neutral=Decider(word=third.deal(1, beside=(thing1, thing2))[0]),
    )


FAMILIES = (
    *(
        Family(
            name=f"coreference/{family}",
            corruptions=corruptions,
            generate=partial(_features, family=family),
        )
        for family, corruptions in _FEATURES.items()
    ),
    *(
        Family(
            name=f"coreference/{family}",
            corruptions=corruptions,
            generate=partial(_choices, family=family),
        )
        for family, corruptions in _CHOICES.items()
    ),
)
