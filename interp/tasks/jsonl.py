"""People's own pairs: a JSON object a line, or dictionaries from Python.

A pair needs `clean`, `corrupt`, `answer` and `foil`; answer and foil with their leading space. Both
directions become items, and the second needs a source of its own. It is

- `corrupt_source`, if given;
- else the distractor, if source and distractor stand unchanged in both texts: something else flips
  their roles ("The farmer beside the senators", "The farmer knew the senators");
- else the source's place, if the source itself is what changes ("The farmer beside the senators",
  "The farmers beside the senators").

In any other case the second source cannot be known, and is asked for.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, PlainValidator, model_validator

from interp.items import Item, Prompt, Span, both_directions
from interp.tasks.alignment import carried
from interp.tasks.check import check
from interp.tasks.lexicon import Record, Text, validated
from interp.tasks.lines import json_lines

_TASK = "own"


def _place(value: Any) -> str | tuple[int, int]:
    match value:
        case str() if value:
            return value
        case [int(start), int(end)]:
            return start, end
        case _:
            raise ValueError(f"expected a phrase or [start, end] in characters, got {value!r}")


Place = Annotated[str | tuple[int, int], PlainValidator(_place)]
"""A word or phrase of the text, or its first character and the one after its last."""


class Pair(Record):
    """One pair as people write it; `source` and `distractor` are places in `clean`."""

    clean: Text
    corrupt: Text
    answer: Text
    foil: Text
    source: Place | None = None
    distractor: Place | None = None
    corrupt_source: Place | None = None
    pair_id: Text | None = None
    template: Text = _TASK
    clusters: Annotated[tuple[Text, ...], Field(min_length=1, max_length=2)] | None = None
    labels: dict[str, str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _source_comes_first(self) -> "Pair":
        if self.source is None and (self.distractor or self.corrupt_source):
            raise ValueError("distractor and corrupt_source need a source; give source as well.")
        return self


def read_pairs(path: Path | str, tokenizer: Any = None) -> list[Item]:
    """Both directions of every pair in a file of JSON lines.

    Args:
        tokenizer: when given, each item also passes `check`.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is empty, or a line is not a valid pair; the message names the file,
            the line and the field.
    """
    return _items(json_lines(path), tokenizer, source=str(path))


def pairs(records: Iterable[Mapping[str, Any]]) -> list[Item]:
    """Both directions of every pair, from dictionaries with the keys of a JSON line.

    Raises:
        ValueError: there is no record, or one is not a valid pair; the message names its number,
            counted from 1, and the field.
    """
    numbered = ((f"record {number}", number, record) for number, record in enumerate(records, 1))
    return _items(numbered, tokenizer=None, source="the records")


def _items(records: Iterable[tuple[str, int, Any]], tokenizer: Any, *, source: str) -> list[Item]:
    items: list[Item] = []
    seen: dict[str, str] = {}
    for place, number, record in records:
        pair = validated(record, Pair, place=place)
        pair_id = pair.pair_id or f"pair{number:04d}"
        if pair_id in seen:
            raise ValueError(
                f'{place}: field "pair_id": "{pair_id}" is taken by {seen[pair_id]}; '
                "give each pair its own."
            )
        seen[pair_id] = place
        try:
            directions = _both_directions(pair, pair_id)
            for item in directions:
                if tokenizer is not None:
                    check(item, tokenizer)
        except ValueError as error:
            raise ValueError(f"{place}: {error}") from error
        items += directions
    if not items:
        raise ValueError(f"{source} must hold at least one pair, got none.")
    return items


def _both_directions(pair: Pair, pair_id: str) -> tuple[Item, Item]:
    source = _located(pair.source, pair.clean, field="source")
    distractor = _located(pair.distractor, pair.clean, field="distractor")
    corrupt_source, corrupt_distractor = _in_corrupt(pair, source, distractor)
    return both_directions(
        Prompt(
            text=pair.clean,
            answer=pair.answer,
            foil=pair.foil,
            source=_spans(source),
            distractors=_spans(distractor),
            labels=pair.labels,
        ),
        Prompt(
            text=pair.corrupt,
            answer=pair.foil,
            foil=pair.answer,
            source=_spans(corrupt_source),
            distractors=_spans(corrupt_distractor),
            labels=pair.labels,
        ),
        pair_id=pair_id,
        task=_TASK,
        template_id=pair.template,
        clusters=pair.clusters or (f"pair:{pair_id}",),
    )


def _spans(span: Span | None) -> tuple[Span, ...]:
    return () if span is None else (span,)


def _located(place: Place | None, text: str, *, field: str) -> Span | None:
    """The characters that a phrase or a pair of numbers names."""
    if place is None:
        return None
    if not isinstance(place, str):
        if not 0 <= place[0] < place[1] <= len(text):
            raise ValueError(
                f'field "{field}": expected [start, end] within 0 to {len(text)}, '
                f"got {list(place)}."
            )
        return Span(*place)
    found = [match.span() for match in re.finditer(rf"(?<!\w){re.escape(place)}(?!\w)", text)]
    if len(found) != 1:
        raise ValueError(
            f'field "{field}": expected a phrase that stands once in "{text}", '
            f'got "{place}", which stands there {len(found)} times; '
            "give [start, end] in characters."
        )
    return Span(*found[0])


def _in_corrupt(
    pair: Pair, source: Span | None, distractor: Span | None
) -> tuple[Span | None, Span | None]:
    """Source and distractor of the second direction, as the head of this file says."""
    if source is None:
        return None, None
    source_place, source_stays = carried(source, pair.clean, pair.corrupt)
    if distractor is None:
        distractor_place, distractor_stays = None, False
    else:
        distractor_place, distractor_stays = carried(distractor, pair.clean, pair.corrupt)
    if pair.corrupt_source is not None:
        given = _located(pair.corrupt_source, pair.corrupt, field="corrupt_source")
        return given, distractor_place if given == source_place else source_place
    if source_stays and distractor_stays:
        return distractor_place, source_place
    if source_stays or source_place is None:
        raise ValueError(
            'field "corrupt_source": where the corrupt text has its source cannot be told from '
            "the texts; give corrupt_source, or a distractor that stands in both."
        )
    return source_place, distractor_place
