"""Frames and lexicons in two halves, for discovery and confirmation, as files of `data` hold them.

The halves stand apart in the file, so that they are the same for every seed and tokenizer.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, Literal, NamedTuple

from interp.items import Corruption, Item, Prompt, both_directions
from interp.tasks.lexicon import MIN_FORMS, MIN_LEXEMES, Lexeme, Record, Text, single_token

Split = Literal["discovery", "confirmation"]
SPLITS: tuple[Split, ...] = ("discovery", "confirmation")


class Halves(Record, Generic[Lexeme]):
    """The lexemes of a slot, in two lists that share none."""

    discovery: tuple[Lexeme, ...]
    confirmation: tuple[Lexeme, ...]

    def usable(
        self, split: Split, tokenizer: Any, *, slot: str, at_least: int = MIN_LEXEMES
    ) -> list[Lexeme]:
        """The lexemes of one half that are one token each.

        Raises:
            ValueError: fewer than `at_least` are left; the message lists the lost ones.
        """
        half = self.discovery if split == "discovery" else self.confirmation
        return single_token(half, tokenizer, slot=f"{slot}, {split}", at_least=at_least)


def half_of(words: Sequence[Any], split: Split) -> Sequence[Any]:
    """Every other one of a list: the first, third, … for discovery, the others to confirm."""
    return words[SPLITS.index(split) :: len(SPLITS)]


class Frame(Record):
    """A template of a family, such as `"The {noun} {flip} the {attractor}"`.

    Attributes:
        split: the half that it belongs to.
        flip: with the first word one slot is the source, with the second the other.
        neutral: a word in place of `flip` with which neither is.
        other: a word of the slot `{other}` that is neither source nor candidate, in two forms.
    """

    family: Text
    id: Text
    split: Split
    text: Text
    flip: tuple[Text, Text] | None = None
    neutral: Text | None = None
    other: tuple[Text, Text] | None = None


def usable_frames(
    frames: Sequence[Frame], family: str, split: Split, tokenizer: Any
) -> list[Frame]:
    """The frames of one half of a family of which every changing word is one token.

    Raises:
        ValueError: fewer than two are left; the message lists the lost words.
    """
    own = [frame for frame in frames if frame.family == family and frame.split == split]
    words = [word for frame in own for word in _changing(frame)]
    kept = set(single_token(words, tokenizer, slot=f"{family}, {split}", at_least=0))
    usable = [frame for frame in own if kept.issuperset(_changing(frame))]
    if len(usable) < MIN_FORMS // len(SPLITS):
        single_token(words, tokenizer, slot=f"{family}, {split}", at_least=len(words))
    return usable


def _changing(frame: Frame) -> list[str]:
    neutral = [frame.neutral] if frame.neutral else []
    return [*(frame.flip or ()), *neutral, *(frame.other or ())]


class Pair(NamedTuple):
    """Two prompts, the frame that they are made from, and their clusters."""

    clean: Prompt
    corrupt: Prompt
    template_id: str
    clusters: tuple[str, ...]


def in_halves(
    name: str, n_pairs: int, corruption: Corruption, pairs: Callable[[Split, int], Iterable[Pair]]
) -> list[Item]:
    """The items of a family: `pairs(split, n)` of either half, the first half the larger by one."""
    n_discovery = (n_pairs + 1) // 2
    items: list[Item] = []
    for split, n_of_half in zip(SPLITS, (n_discovery, n_pairs - n_discovery), strict=True):
        for pair in pairs(split, n_of_half):
            items += both_directions(
                pair.clean,
                pair.corrupt,
                pair_id=f"{name}.{corruption}.{len(items) // 2:04d}",
                task=name.partition("/")[0],
                template_id=pair.template_id,
                clusters=pair.clusters,
                corruption=corruption,
                split=split,
            )
    return items
