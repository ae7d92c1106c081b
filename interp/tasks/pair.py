"""A pair as people write it, and the two items that it stands for."""

import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, PlainValidator, model_validator

from interp.items import Corruption, Item, Prompt, Relation, Span, both_directions
from interp.tasks.alignment import carried
from interp.tasks.lexicon import Record, Text

_TASK = "own"


def _place(value: Any) -> str | tuple[int, int]:
    match value:
        case str() if value:
            return value
        case [int(start), int(end)]:
            return start, end
        case _:
            raise ValueError(f"expected a phrase or [start, end] in characters, got {value!r}")


def _places(value: Any) -> tuple[str | tuple[int, int], ...]:
    """One place, or a list of places."""
    match value:
        case [] | [str() | [*_], *_]:
            return tuple(_place(each) for each in value)
        case _:
            return (_place(value),)


Place = Annotated[str | tuple[int, int], PlainValidator(_place)]
"""A word or phrase of the text, or its first character and the one after its last."""

Places = Annotated[tuple[str | tuple[int, int], ...], PlainValidator(_places)]
"""A place, or a list of them."""


class Edge(Record):
    """A further relation: from the words of `query`, attention belongs at `source`."""

    name: Text
    query: Place
    source: Places


class Pair(Record):
    """One pair as people write it; places without `corrupt_` are places in `clean`."""

    clean: Text
    corrupt: Text
    answer: Text
    foil: Text
    corrupt_answer: Text | None = None
    corrupt_foil: Text | None = None
    source: Places | None = None
    distractor: Places | None = None
    corrupt_source: Places | None = None
    corrupt_distractor: Places | None = None
    query: Place | None = None
    corrupt_query: Place | None = None
    relations: tuple[Edge, ...] = ()
    corrupt_relations: tuple[Edge, ...] | None = None
    pair_id: Text | None = None
    task: Text = _TASK
    template: Text = _TASK
    clusters: Annotated[tuple[Text, ...], Field(min_length=1, max_length=2)] | None = None
    corruption: Corruption | None = None
    split: Literal["discovery", "confirmation", ""] = ""
    labels: dict[str, str] = Field(default_factory=dict)
    corrupt_labels: dict[str, str] | None = None
    lexemes: dict[str, str] = Field(default_factory=dict)
    corrupt_lexemes: dict[str, str] | None = None

    @model_validator(mode="after")
    def _source_comes_first(self) -> "Pair":
        if self.source is None and (self.distractor or self.corrupt_source):
            raise ValueError("distractor and corrupt_source need a source; give source as well.")
        return self

    @model_validator(mode="after")
    def _relations_are_of_both(self) -> "Pair":
        if self.relations and self.corrupt_relations is None:
            raise ValueError(
                "relations need corrupt_relations, those of the corrupt text; give them, or [] if "
                "it has none."
            )
        return self


def items_of(pair: Pair, pair_id: str) -> tuple[Item, Item]:
    """Both directions of a pair; `interp.tasks.jsonl` says what the second has.

    Raises:
        ValueError: a place is not in its text, or the second source cannot be known.
    """
    source = _located(pair.source, pair.clean, field="source")
    distractors = _located(pair.distractor, pair.clean, field="distractor")
    corrupt_source, corrupt_distractors = _in_corrupt(pair, source, distractors)
    query, corrupt_query = _queries(pair)
    return both_directions(
        Prompt(
            text=pair.clean,
            answer=pair.answer,
            foil=pair.foil,
            source=source,
            distractors=distractors,
            labels=pair.labels,
            query=query,
            relations=_relations(pair.relations, pair.clean, field="relations"),
            lexemes=pair.lexemes,
        ),
        Prompt(
            text=pair.corrupt,
            answer=pair.corrupt_answer or pair.foil,
            foil=pair.corrupt_foil or pair.answer,
            source=corrupt_source,
            distractors=corrupt_distractors,
            labels=pair.labels if pair.corrupt_labels is None else pair.corrupt_labels,
            query=corrupt_query,
            relations=_relations(
                pair.corrupt_relations or (), pair.corrupt, field="corrupt_relations"
            ),
            lexemes=pair.lexemes if pair.corrupt_lexemes is None else pair.corrupt_lexemes,
        ),
        pair_id=pair_id,
        task=pair.task,
        template_id=pair.template,
        clusters=pair.clusters or (f"pair:{pair_id}",),
        corruption=pair.corruption,
        split=pair.split,
    )


def _relations(edges: Sequence[Edge], text: str, *, field: str) -> list[Relation]:
    relations = []
    for edge in edges:
        (query,) = _located((edge.query,), text, field=field)
        relations.append(Relation(edge.name, query, _located(edge.source, text, field=field)))
    return relations


def _queries(pair: Pair) -> tuple[Span | None, Span | None]:
    """The query of either text; what is not given for the corrupt text keeps its place."""
    query = None if pair.query is None else _located((pair.query,), pair.clean, field="query")[0]
    if "corrupt_query" in pair.model_fields_set:
        place = pair.corrupt_query
        if place is None:
            return query, None
        return query, _located((place,), pair.corrupt, field="corrupt_query")[0]
    if query is None:
        return None, None
    there, _ = carried(query, pair.clean, pair.corrupt)
    if there is None:
        raise ValueError(
            'field "corrupt_query": where the corrupt text has its query cannot be told from the '
            "texts; give corrupt_query."
        )
    return query, there


def _located(places: Places | None, text: str, *, field: str) -> tuple[Span, ...]:
    """The characters that phrases or pairs of numbers name."""
    return tuple(_located_one(place, text, field=field) for place in places or ())


def _located_one(place: Place, text: str, *, field: str) -> Span:
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
    pair: Pair, source: tuple[Span, ...], distractors: tuple[Span, ...]
) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    """Source and distractors of the second direction."""
    source_there, source_stays = _carried(source, pair)
    distractors_there, distractors_stay = _carried(distractors, pair)
    if pair.corrupt_source is not None:
        given = _located(pair.corrupt_source, pair.corrupt, field="corrupt_source")
        others = distractors_there if given == source_there else source_there
    elif not source:
        given, others = (), ()
    elif source_stays and distractors and distractors_stay:
        given, others = distractors_there, source_there
    elif source_stays or not source_there:
        raise ValueError(
            'field "corrupt_source": where the corrupt text has its source cannot be told from '
            "the texts; give corrupt_source, or a distractor that stands in both."
        )
    else:
        given, others = source_there, distractors_there
    if pair.corrupt_distractor is not None:
        others = _located(pair.corrupt_distractor, pair.corrupt, field="corrupt_distractor")
    return given, others


def _carried(spans: tuple[Span, ...], pair: Pair) -> tuple[tuple[Span, ...], bool]:
    """Their places in the corrupt text, none unless all have one, and whether all are unchanged."""
    there = [carried(span, pair.clean, pair.corrupt) for span in spans]
    places = tuple(place for place, _ in there if place is not None)
    return (places if len(places) == len(spans) else ()), all(stays for _, stays in there)
