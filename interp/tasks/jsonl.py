"""People's own pairs: a JSON object a line, or dictionaries from Python.

A pair needs `clean`, `corrupt`, `answer` and `foil`; answer and foil with their leading space. Both
directions become items. In the second, answer and foil change places unless `corrupt_answer` and
`corrupt_foil` say otherwise, and the source is

- `corrupt_source`, if given;
- else the distractor, if source and distractor stand unchanged in both texts: something else flips
  their roles ("The farmer beside the senators", "The farmer knew the senators");
- else the source's place, if the source itself is what changes ("The farmer beside the senators",
  "The farmers beside the senators").

In any other case the second source cannot be known, and is asked for. Labels and lexemes are the
same in both unless the second has its own, and so is the place of a query. `write_pairs` writes
items so that they are read back unchanged.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from interp.items import Item, Relation
from interp.tasks.check import check
from interp.tasks.lexicon import validated
from interp.tasks.lines import json_lines
from interp.tasks.pair import Pair, items_of


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
        items += read_pair(place, number, record, seen, tokenizer)
    if not items:
        raise ValueError(f"{source} must hold at least one pair, got none.")
    return items


def read_pair(
    place: str, number: int, record: Any, seen: dict[str, str], tokenizer: Any
) -> tuple[Item, Item]:
    """Both directions of one pair.

    Args:
        seen: the places of the pairs before it, by `pair_id`; its own is added.

    Raises:
        ValueError: it is not a valid pair; the message names the place and the field.
    """
    pair = validated(record, Pair, place=place)
    pair_id = pair.pair_id or f"pair{number:04d}"
    if pair_id in seen:
        raise ValueError(
            f'{place}: field "pair_id": "{pair_id}" is taken by {seen[pair_id]}; '
            "give each pair its own."
        )
    seen[pair_id] = place
    try:
        directions = items_of(pair, pair_id)
        for item in directions:
            if tokenizer is not None:
                check(item, tokenizer)
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from error
    return directions


def write_pairs(items: Sequence[Item], path: Path | str) -> None:
    """A file of JSON lines, a pair each, from which `read_pairs` gives the same items.

    Raises:
        ValueError: the items are not both directions of each pair, one after the other.
    """
    Path(path).write_text("".join(f"{line}\n" for line in pair_lines(items)), encoding="utf-8")


def pair_lines(items: Sequence[Item]) -> list[str]:
    """The lines of `write_pairs`.

    Raises:
        ValueError: the items are not both directions of each pair, one after the other.
    """
    pairs_of = list(zip(items[0::2], items[1::2], strict=False))
    for one, other in pairs_of:
        _require_directions(one, other)
    if len(items) % 2:
        raise ValueError(
            f'item "{items[-1].item_id}" stands alone; give both directions of each pair.'
        )
    return [
        json.dumps(_record(one, other), ensure_ascii=False, separators=(",", ":"))
        for one, other in pairs_of
    ]


def _require_directions(one: Item, other: Item) -> None:
    texts = (one.clean_text, one.corrupt_text) == (other.corrupt_text, other.clean_text)
    ids = (one.item_id, other.item_id) == (f"{one.pair_id}.a", f"{one.pair_id}.b")
    if not texts or not ids or one.pair_id != other.pair_id:
        raise ValueError(
            f'items "{one.item_id}" and "{other.item_id}" are not the two directions of a pair, '
            "its a and its b; give both directions of each pair, one after the other."
        )


def _record(one: Item, other: Item) -> dict[str, Any]:
    """The fields of a pair; those of the second direction only where they are not as expected."""
    record: dict[str, Any] = {
        "pair_id": one.pair_id,
        "task": one.task,
        "template": one.template_id,
        "clusters": one.clusters,
        "clean": one.clean_text,
        "corrupt": one.corrupt_text,
        "answer": one.answer_text,
        "foil": one.foil_text,
    }
    if one.corruption is not None:
        record["corruption"] = one.corruption
    if one.split:
        record["split"] = one.split
    if (other.answer_text, other.foil_text) != (one.foil_text, one.answer_text):
        record |= {"corrupt_answer": other.answer_text, "corrupt_foil": other.foil_text}
    if one.source or other.source or one.distractors or other.distractors:
        record |= {
            "source": one.source,
            "distractor": one.distractors,
            "corrupt_source": other.source,
            "corrupt_distractor": other.distractors,
        }
    if one.query is not None or other.query is not None:
        record |= {"query": one.query, "corrupt_query": other.query}
    if one.relations or other.relations:
        record |= {
            "relations": [_edge(relation) for relation in one.relations],
            "corrupt_relations": [_edge(relation) for relation in other.relations],
        }
    for name in ("labels", "lexemes"):
        if getattr(one, name):
            record[name] = getattr(one, name)
        if getattr(other, name) != getattr(one, name):
            record[f"corrupt_{name}"] = getattr(other, name)
    return record


def _edge(relation: Relation) -> dict[str, Any]:
    return {"name": relation.name, "query": relation.query, "source": relation.source}
