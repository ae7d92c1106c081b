"""A pair at a distance: filler between the source and the query, exact in tokens."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from interp.items import Corruption, Item, Prompt, Relation, Span, both_directions
from interp.tasks.filler import Filler
from interp.tasks.lexicon import Record, Text
from interp.tasks.wording import fill

DISTANCES = (8, 16, 32, 64, 128, 256, 512, 1024, 2048)
"""From the last token of the nearer slot to the query, in tokens."""

_MOST_PAIRS = ((256, 64), (512, 32), (2048, 16))
_ATTEMPTS = 20
_CLOSED = ("query", "flip")  # slots that repeat another's lexeme, or hold a pronoun


class Mode(StrEnum):
    """What keeps its position in the text when the distance grows.

    `fixed_source`: the source; the query moves away. `fixed_query`: the query, which stands where
    the longest distance puts it; filler before the source takes up what the distance leaves.
    """

    FIXED_SOURCE = "fixed_source"
    FIXED_QUERY = "fixed_query"


def most_pairs(name: str) -> int:
    """How many pairs of a family one run takes: 64 up to 256 tokens, 32 at 512, 16 beyond.

    A run keeps what every layer says at every token. The text is as long as the query is far from
    its beginning. There is no bound for short families.
    """
    parts = name.split("/")
    if len(parts) != 4:
        return 1_000_000
    length = DISTANCES[-1] if parts[3] == Mode.FIXED_QUERY else int(parts[2])
    return next(n_pairs for longest, n_pairs in _MOST_PAIRS if length <= longest)


class FarWording(Record):
    """What stands before the filler, and what stands behind it."""

    id: Text
    head: Text
    tail: Text


class Side(NamedTuple):
    """One of the two prompts of a pair: the word in each slot, and which slots matter.

    Attributes:
        stranger: the slot whose word is not one of the design, and so not counted with its lexemes.
    """

    words: Mapping[str, str]
    source: str
    distractors: tuple[str, ...]
    answer: str
    labels: dict[str, str]
    stranger: str | None = None

    def removal(self, slot: str, word: str, *, foil: str) -> tuple["Side", "Side"]:
        """This prompt, and the same with a word in the slot that tells nothing.

        Neither answer is right there, and `foil` is that prompt's answer. Its labels are those of
        this one, `decider` apart.
        """
        present = self._replace(labels=self.labels | {"decider": "present"})
        absent = self._replace(
            words={**self.words, slot: word},
            answer=foil,
            labels=self.labels | {"decider": "absent"},
            stranger=slot,
        )
        return present, absent


@dataclass(frozen=True, kw_only=True)
class FarPair:
    """A pair before its distance is set.

    Attributes:
        clean, corrupt: the two prompts, which differ in one word.
        nearest: the slot of the head from which the distance is counted: of those that can hold
            the source, the last.
        stream: names the filler between source and query; pairs with the same share it.
        relations: by name, a slot of the tail from which attention also belongs at the source,
            unless a stranger is in it.
    """

    pair_id: str
    wording: FarWording
    split: str
    clusters: tuple[str, ...]
    clean: Side
    corrupt: Side
    nearest: str
    stream: str
    relations: Mapping[str, str] = field(default_factory=dict)


def at_distance(
    pair: FarPair, distance: int, mode: Mode, filler: Filler, *, corruption: Corruption, front: str
) -> tuple[Item, Item]:
    """The two items of a pair, the query `distance` tokens behind the nearest slot.

    Args:
        front: names the filler before the source, where there is any.

    Raises:
        ValueError: the words around the filler take up more than the distance, or no filler
            brings the exact number.
    """
    between = _between(pair, distance, filler)
    before = ""
    if mode is Mode.FIXED_QUERY:
        before = _before(pair, distance, between, filler, front)
    prompts = [
        _prompt(pair, side, other, before, between)
        for side, other in ((pair.clean, pair.corrupt), (pair.corrupt, pair.clean))
    ]
    return both_directions(
        *prompts,
        pair_id=pair.pair_id,
        task="long_range",
        template_id=pair.wording.id,
        clusters=pair.clusters,
        corruption=corruption,
        split=pair.split,
    )


def _between(pair: FarPair, distance: int, filler: Filler) -> str:
    """Filler behind the head, of the length at which the distance is exact."""
    head, places = fill(pair.wording.head, pair.clean.words)
    tail, _ = fill(pair.wording.tail, pair.clean.words)
    up_to_slot = head[: places[pair.nearest][-1].end]
    is_open = head.endswith("(")

    n_least = _n_tokens(head + tail, filler.tokenizer) - _n_tokens(up_to_slot, filler.tokenizer)
    if n_least > distance or (is_open and n_least == distance):
        raise ValueError(
            f'the wording "{pair.wording.id}" takes {n_least} tokens from its source to its query, '
            f"and the distance is {distance}; shorten the wording or choose a longer distance."
        )
    n_filler = distance - n_least
    for attempt in range(_ATTEMPTS):
        between = filler.text(n_filler, key=pair.stream, attempt=attempt)
        between = between.lstrip() if is_open else between
        missing = distance - _distance(up_to_slot, head + between + tail, filler.tokenizer)
        if missing == 0:
            return between
        n_filler += missing
    raise ValueError(
        f"no filler puts {distance} tokens between source and query of the wording "
        f'"{pair.wording.id}" with this tokenizer; change its punctuation.'
    )


def _before(pair: FarPair, distance: int, between: str, filler: Filler, key: str) -> str:
    """Filler before the head, so that the query stands where the longest distance puts it."""
    head, places = fill(pair.wording.head, pair.clean.words)
    tail, _ = fill(pair.wording.tail, pair.clean.words)
    up_to_slot = head[: places[pair.nearest][-1].end]
    wanted = _n_tokens(up_to_slot, filler.tokenizer) + DISTANCES[-1]
    n_filler = DISTANCES[-1] - distance
    for attempt in range(_ATTEMPTS):
        before = filler.text(n_filler, key=key, attempt=attempt).lstrip()
        before = f"{before} " if before else ""
        missing = wanted - _n_tokens(before + head + between + tail, filler.tokenizer)
        if missing == 0:
            return before
        n_filler += missing
    raise ValueError(
        f"no filler before the source puts the query at token {wanted} with this tokenizer; add "
        "short sentences to data/filler.toml."
    )


def _distance(up_to_slot: str, text: str, tokenizer: Any) -> int:
    return _n_tokens(text, tokenizer) - _n_tokens(up_to_slot, tokenizer)


def _n_tokens(text: str, tokenizer: Any) -> int:
    return len(tokenizer(text, add_special_tokens=False)["input_ids"])


def _prompt(pair: FarPair, side: Side, other: Side, before: str, between: str) -> Prompt:
    head, in_head = fill(pair.wording.head, side.words)
    tail, in_tail = fill(pair.wording.tail, side.words)

    def moved(spans: tuple[Span, ...], n_characters: int) -> tuple[Span, ...]:
        return tuple(Span(span.start + n_characters, span.end + n_characters) for span in spans)

    source = moved(in_head[side.source], len(before))
    behind = len(before + head + between)
    return Prompt(
        text=before + head + between + tail,
        answer=f" {side.answer}",
        foil=f" {other.answer}",
        source=source,
        distractors=tuple(
            span for slot in side.distractors for span in moved(in_head[slot], len(before))
        ),
        labels=side.labels,
        relations=tuple(
            Relation(name, moved(in_tail[slot], behind)[-1], source)
            for name, slot in pair.relations.items()
            if slot != side.stranger
        ),
        lexemes={
            slot: word for slot, word in side.words.items() if slot not in (*_CLOSED, side.stranger)
        },
    )
