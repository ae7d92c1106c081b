"""Pairs in which a feature of one word, its number or gender, decides the answer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from interp.items import Corruption, Prompt
from interp.tasks.design import Deck, balanced_cells, crossed_at, spread
from interp.tasks.frames import Frame, Pair
from interp.tasks.wording import fill

Forms = tuple[str, str]
"""A word of each level: the singular and the plural of a noun, or a man's name and a woman's."""

FLIPPED = (Corruption.ROLE_FLIP, Corruption.FEATURE_FLIP, Corruption.DISTRACTOR, Corruption.REMOVAL)
UNFLIPPED = (Corruption.FEATURE_FLIP, Corruption.DISTRACTOR, Corruption.REMOVAL)
ALONE = (Corruption.FEATURE_FLIP, Corruption.REMOVAL)
"""What frames with a flip, with two words and no flip, and with one word can be corrupted by."""


@dataclass(frozen=True, kw_only=True)
class Feature:
    """What decides, in which words, and between which answers.

    Attributes:
        name, levels: such as `"number"`, `("singular", "plural")`.
        slots: of the source and of the distractor; a frame may have the first alone.
        answers: continuations for the one level and the other.
        inflects: whether both forms are one lexeme, as those of a noun are and two names are not.
    """

    name: str
    levels: tuple[str, str]
    slots: tuple[str, str]
    answers: tuple[Forms, ...]
    inflects: bool


@dataclass(frozen=True, kw_only=True)
class _Sentence:
    feature: Feature
    frame: Frame
    answers: Forms
    words: dict[str, Forms]
    levels: dict[str, int]
    middle: int
    is_flipped: bool = False
    neutral: str = ""

    @property
    def source(self) -> str:
        return [*self.words][self.is_flipped]

    @property
    def distractor(self) -> str | None:
        others = [slot for slot in self.words if slot != self.source]
        return others[0] if others else None

    def prompt(self, *, with_role: bool) -> Prompt:
        forms = {slot: forms[self.levels[slot]] for slot, forms in self.words.items()}
        lexemes = {
            slot: self.words[slot][0] if self.feature.inflects else form
            for slot, form in forms.items()
        }
        if self.neutral:
            forms[self.source] = self.neutral
            del lexemes[self.source]
        fixed = {"flip": self.frame.flip[self.is_flipped]} if self.frame.flip else {}
        if self.frame.other:
            fixed["other"] = self.frame.other[self.middle]
        text, places = fill(self.frame.text, forms | fixed)
        right = self.levels[self.source] ^ bool(self.neutral)
        return Prompt(
            text=text,
            answer=f" {self.answers[right]}",
            foil=f" {self.answers[1 - right]}",
            source=places[self.source],
            distractors=places[self.distractor] if self.distractor else (),
            labels=self._labels(is_first=self._is_first(places), with_role=with_role),
            lexemes=lexemes,
        )

    def _is_first(self, places: dict[str, Any]) -> bool:
        return self.distractor is None or places[self.source] < places[self.distractor]

    def _labels(self, *, is_first: bool, with_role: bool) -> dict[str, str]:
        name, levels = self.feature.name, self.feature.levels
        labels = {f"source_{name}": levels[self.levels[self.source]]}
        if with_role:
            labels |= {"source_slot": "first" if is_first else "second"}
        elif self.distractor is not None:
            is_match = self.levels[self.source] == self.levels[self.distractor]
            labels |= {
                f"distractor_{name}": levels[self.levels[self.distractor]],
                "match": "match" if is_match else "mismatch",
            }
        if self.frame.other:
            labels |= {f"middle_{name}": levels[self.middle]}
        return labels


def feature_pairs(
    feature: Feature,
    frames: Sequence[Frame],
    words: Sequence[Forms],
    neutral: Sequence[str],
    n_pairs: int,
    rng: Random,
    corruption: Corruption,
) -> Iterator[Pair]:
    """Pairs of one half of a family, balanced over frames, answers and levels.

    - `role_flip`: the flipping word makes the other word the source; the two differ in level.
    - `feature_flip`: the source takes the other level. The distractor's level is crossed with the
      source's, so that it agrees with it in half of the items (`match`) and not in the others.
    - `distractor`: the distractor takes the other level. Both directions have the same right
      answer, and its level goes from match to mismatch or back.
    - `removal`: a word without level takes the source's place. Neither answer is right then, and
      the second direction has them exchanged, so that `clean − corrupt` has one sign in both: the
      donor pushes toward its own answer. Its labels are those of the first, `decider` apart.
    """
    words = list(words)
    rng.shuffle(words)
    has_two = all(f"{{{feature.slots[1]}}}" in frame.text for frame in frames)
    is_crossed = has_two and corruption is not Corruption.ROLE_FLIP
    middles = (0, 1) if frames[0].other else (0,)
    levels_of_other = (0, 1) if is_crossed else (0,)
    cells = balanced_cells(n_pairs, rng, frames, (0, 1), levels_of_other, middles)
    answers_of = spread([cell[:2] for cell in cells], feature.answers, rng)
    if has_two:
        levels_of = [(cell[1], cell[2] if is_crossed else 1 - cell[1]) for cell in cells]
        lexemes: list[tuple[Forms, ...]] = list(crossed_at(levels_of, words, rng))
    else:
        asked = [(cell[0], answers) for cell, answers in zip(cells, answers_of, strict=True)]
        lexemes = [(word,) for word in spread(asked, words, rng)]
    deck = Deck(neutral, rng)
    slots = feature.slots
    for cell, answers, chosen in zip(cells, answers_of, lexemes, strict=True):
        frame, level, other_level, middle = cell
        levels = (level, other_level if is_crossed else 1 - level)
        clean = _Sentence(
            feature=feature,
            frame=frame,
            answers=answers,
            words=dict(zip(slots, chosen, strict=False)),
            levels=dict(zip(slots, levels, strict=True)),
            middle=middle,
        )
        corrupt = _corrupted(clean, corruption, deck)
        is_role = corruption is Corruption.ROLE_FLIP
        prompts = [sentence.prompt(with_role=is_role) for sentence in (clean, corrupt)]
        if corruption is Corruption.REMOVAL:
            prompts = [
                replace(prompt, labels=prompt.labels | {"decider": decider})
                for prompt, decider in zip(prompts, ("present", "absent"), strict=True)
            ]
        clusters = tuple(
            f"{slot}:{forms[0] if feature.inflects else '/'.join(forms)}"
            for slot, forms in clean.words.items()
        )
        yield Pair(prompts[0], prompts[1], frame.id, clusters)


def _corrupted(clean: _Sentence, corruption: Corruption, neutral: Deck) -> _Sentence:
    match corruption:
        case Corruption.ROLE_FLIP:
            return replace(clean, is_flipped=True)
        case Corruption.REMOVAL:
            return replace(clean, neutral=neutral.deal(1)[0])
        case Corruption.FEATURE_FLIP:
            changed = clean.source
        case Corruption.DISTRACTOR:
            assert clean.distractor is not None
            changed = clean.distractor
    return replace(clean, levels=clean.levels | {changed: 1 - clean.levels[changed]})
