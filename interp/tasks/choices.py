"""Pairs in which the answer is one of two names of the text, and one word says which."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from interp.items import Corruption, Prompt, Relation
from interp.tasks.design import balanced_cells
from interp.tasks.frames import Frame, Pair
from interp.tasks.wording import fill

GENDERS = ("masculine", "feminine")

Cell = tuple[Frame, int, int, int]
"""A frame, the gender of either name, and which of them is meant."""


@dataclass(frozen=True, kw_only=True)
class Decider:
    """The word at `{flip}` that says which name is meant.

    Attributes:
        word: the word itself.
        refers_to: the slots that it refers to, earlier in the text; none where it says nothing.
        relation: what to call the edge from it to them.
    """

    word: str
    refers_to: tuple[str, ...] = ()
    relation: str = "antecedent"


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What stands in a pair's slots, and the word that means the first name, the second, none."""

    words: Mapping[str, str]
    first: Decider
    second: Decider
    neutral: Decider | None = None


Decide = Callable[[Frame, tuple[str, str], tuple[int, int]], Choice]
"""The choice of a frame, its two names and their genders."""


def choice_pairs(
    frames: Sequence[Frame],
    names: tuple[Sequence[str], Sequence[str]],
    decide: Decide,
    n_pairs: int,
    rng: Random,
    corruption: Corruption,
    *,
    genders: Sequence[tuple[int, int]],
) -> Iterator[Pair]:
    """Pairs of one half of a family, balanced over frames, genders and the name that is meant.

    - `role_flip`: the word at `{flip}` changes, and means the other name.
    - `removal`: it gives way to one that means neither. The second direction has answer and foil
      exchanged, so that `clean − corrupt` has one sign in both: the donor pushes toward its own
      answer. Its labels and its source are those of the first, `decider` apart.
    - `distractor`: the same change where the word tells nothing, because it fits both names, as a
      pronoun fits two of its gender. Answer and foil are by convention, and both directions have
      the same: the metric should not move.
    """
    cells = balanced_cells(n_pairs, rng, frames, genders, (0, 1))
    chosen = _names_of(cells, names, rng, are_mirrored=corruption is Corruption.DISTRACTOR)
    for (frame, of_names, meant), pair in zip(cells, chosen, strict=True):
        choice = decide(frame, pair, of_names)
        informed = choice.second if meant else choice.first
        is_flip = corruption is Corruption.ROLE_FLIP
        other = (choice.first if meant else choice.second) if is_flip else choice.neutral
        assert other is not None
        is_removal = corruption is Corruption.REMOVAL
        yield Pair(
            _prompt(
                frame,
                choice,
                informed,
                genders=of_names,
                source=meant,
                answer=meant,
                labels={"decider": "present"} if is_removal else {},
            ),
            _prompt(
                frame,
                choice,
                other,
                genders=of_names,
                source=1 - meant if is_flip else meant,
                answer=meant if corruption is Corruption.DISTRACTOR else 1 - meant,
                labels={"decider": "absent"} if is_removal else {},
            ),
            frame.id,
            (f"name1:{pair[0]}", f"name2:{pair[1]}"),
        )


def _prompt(
    frame: Frame,
    choice: Choice,
    decider: Decider,
    *,
    genders: tuple[int, int],
    source: int,
    answer: int,
    labels: dict[str, str],
) -> Prompt:
    text, places = fill(frame.text, {**choice.words, "flip": decider.word})
    names = [choice.words["name1"], choice.words["name2"]]
    slots = ["name1", "name2"]
    referents = tuple(place for slot in decider.refers_to for place in places[slot])
    return Prompt(
        text=text,
        answer=f" {names[answer]}",
        foil=f" {names[1 - answer]}",
        source=places[slots[source]],
        distractors=places[slots[1 - source]],
        labels={
            "source_slot": "second" if source else "first",
            "source_gender": GENDERS[genders[source]],
            "distractor_gender": GENDERS[genders[1 - source]],
            **labels,
        },
        relations=[Relation(decider.relation, places["flip"][0], referents)] if referents else [],
        lexemes=dict(choice.words),
    )


def _names_of(
    cells: Sequence[tuple[Frame, tuple[int, int], int]],
    names: tuple[Sequence[str], Sequence[str]],
    rng: Random,
    *,
    are_mirrored: bool,
) -> list[tuple[str, str]]:
    """Two names of the cell's genders for each cell, all used evenly and no two twice in one order.

    Mirrored, every second cell of the same genders and the same one meant has the last names in
    the other order, so that each is right as often as wrong.
    """
    order = [list(of_gender) for of_gender in names]
    used: Counter[tuple[str, ...]] = Counter()
    unmirrored: dict[tuple[int, ...], tuple[str, str]] = {}
    chosen = []
    for _, genders, meant in cells:
        for of_gender in order:
            rng.shuffle(of_gender)
        key = (*genders, meant)
        if key in unmirrored:
            second, first = unmirrored.pop(key)
        else:
            first = min(order[genders[0]], key=lambda name: (used[name,], used["first", name]))
            rest = [(first, name) for name in order[genders[1]] if name != first]
            _, second = min(rest, key=lambda pair: (used[pair], used[pair[1],]))
            if are_mirrored:
                unmirrored[key] = first, second
        used.update([(first,), (second,), ("first", first), (first, second)])
        chosen.append((first, second))
    return chosen
