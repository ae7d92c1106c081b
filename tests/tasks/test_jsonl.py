import json
import re
from pathlib import Path
from typing import Any

import pytest
from transformers import PreTrainedTokenizerFast

from interp.items import Corruption, Item, Prompt, Relation, Span, both_directions
from interp.tasks import build, pairs, read_pairs, write_pairs

ROLE = {
    "clean": "The farmer beside the senators",
    "corrupt": "The farmer knew the senators",
    "answer": " is",
    "foil": " are",
    "source": "farmer",
    "distractor": "senators",
}
FEATURE = ROLE | {"corrupt": "The farmers beside the senators"}


def sources(item: Item) -> list[str]:
    return [item.clean_text[span.start : span.end] for span in item.source]


def distractors(item: Item) -> list[str]:
    return [item.clean_text[span.start : span.end] for span in item.distractors]


def without(record: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in record.items() if key not in keys}


def test_four_fields_are_enough() -> None:
    a, b = pairs([without(ROLE, "source", "distractor")])
    assert (a.clean_text, a.answer_text, a.foil_text) == (ROLE["clean"], " is", " are")
    assert (b.clean_text, b.answer_text, b.foil_text) == (ROLE["corrupt"], " are", " is")
    assert a.source == b.source == a.distractors == b.distractors == ()
    assert (a.pair_id, a.task, a.template_id, a.clusters) == (
        "pair0001",
        "own",
        "own",
        ("pair:pair0001",),
    )


def test_a_flipped_role_moves_the_source_to_the_distractor() -> None:
    a, b = pairs([ROLE])
    assert (sources(a), distractors(a)) == (["farmer"], ["senators"])
    assert (sources(b), distractors(b)) == (["senators"], ["farmer"])


def test_a_flipped_feature_leaves_the_source_in_its_place() -> None:
    a, b = pairs([FEATURE])
    assert (sources(a), distractors(a)) == (["farmer"], ["senators"])
    assert (sources(b), distractors(b)) == (["farmers"], ["senators"])


def test_a_source_given_for_the_corrupt_text_is_taken() -> None:
    _, b = pairs([without(ROLE, "distractor") | {"corrupt_source": [20, 28]}])
    assert (sources(b), distractors(b)) == (["senators"], ["farmer"])


def test_a_second_source_that_cannot_be_known_is_asked_for() -> None:
    message = (
        'record 1: field "corrupt_source": where the corrupt text has its source cannot be told '
        "from the texts; give corrupt_source, or a distractor that stands in both."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        pairs([without(ROLE, "distractor")])
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        pairs([ROLE | {"corrupt": "The farmer beside the doctors"}])


def test_labels_template_and_clusters_are_kept() -> None:
    given = {"pair_id": "x", "template": "pp", "clusters": ["n:a", "m:b"], "labels": {"k": "v"}}
    for item in pairs([ROLE | given]):
        assert (item.pair_id, item.template_id) == ("x", "pp")
        assert (item.clusters, item.labels) == (("n:a", "m:b"), {"k": "v"})


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"answer": 3}, 'field "answer": Input should be a valid string.'),
        ({"clena": "x"}, 'field "clena": Extra inputs are not permitted.'),
        (
            {"source": "the"},
            'field "source": expected a phrase that stands once in "The farmer beside the '
            'senators beside the sea", got "the", which stands there 2 times; '
            "give [start, end] in characters.",
        ),
        (
            {"source": "farm"},
            'field "source": expected a phrase that stands once in "The farmer beside the '
            'senators beside the sea", got "farm", which stands there 0 times; '
            "give [start, end] in characters.",
        ),
        ({"source": [4, 99]}, 'field "source": expected [start, end] within 0 to 45, got [4, 99].'),
        (
            {"source": [4]},
            'field "source": expected a phrase or [start, end] in characters, got [4].',
        ),
        (
            {"source": None},
            "distractor and corrupt_source need a source; give source as well.",
        ),
        (
            {"clusters": ["a", "b", "c"]},
            'field "clusters": Tuple should have at most 2 items after validation, not 3.',
        ),
    ],
)
def test_a_bad_record_is_named_with_its_field(changes: dict[str, Any], problem: str) -> None:
    clean = "The farmer beside the senators beside the sea"
    bad = ROLE | {"clean": clean, "corrupt": clean.replace("beside", "knew", 1)} | changes
    with pytest.raises(ValueError, match=f"^{re.escape(f'record 2: {problem}')}$"):
        pairs([ROLE, bad])


def test_a_file_is_read_line_by_line(tmp_path: Path, tokenizer: PreTrainedTokenizerFast) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text(f"{json.dumps(ROLE)}\n\n{json.dumps(FEATURE)}\n", encoding="utf-8-sig")
    items = read_pairs(path, tokenizer)
    assert [item.item_id for item in items] == [
        "pair0001.a",
        "pair0001.b",
        "pair0003.a",
        "pair0003.b",
    ]


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ([], " must hold at least one pair, got none."),
        (
            [json.dumps(ROLE), "{'clean': 1}"],
            ", line 2: expected one JSON object, got Expecting property name enclosed in double "
            "quotes at column 2.",
        ),
        (
            ["[1, 2]"],
            ", line 1: Input should be a valid dictionary or instance of Pair.",
        ),
        ([json.dumps(without(ROLE, "foil"))], ', line 1: field "foil": Field required.'),
        (
            [json.dumps(ROLE | {"pair_id": "x"})] * 2,
            ', line 2: field "pair_id": "x" is taken by {path}, line 1; give each pair its own.',
        ),
        (
            [json.dumps(ROLE | {"answer": "is"})],
            ', line 1: pair "pair0001", item "pair0001.a": in context the answer is " is", with '
            'its leading space, got "is".',
        ),
    ],
)
def test_a_bad_file_is_named_with_its_line(
    lines: list[str], problem: str, tmp_path: Path, tokenizer: PreTrainedTokenizerFast
) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text("\n".join(lines))
    message = f"{path}{problem.format(path=path) if '{path}' in problem else problem}"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        read_pairs(path, tokenizer)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "none.jsonl"
    message = f"there is no file {path}; give the path of a text file."
    with pytest.raises(FileNotFoundError, match=f"^{re.escape(message)}$"):
        read_pairs(path)


def round_trip(items: list[Item], path: Path) -> list[Item]:
    write_pairs(items, path)
    return read_pairs(path)


@pytest.mark.parametrize(
    ("name", "corruption"),
    [
        ("agreement/pp2", Corruption.ROLE_FLIP),
        ("agreement/simple", Corruption.REMOVAL),
        ("agreement/sent_comp", Corruption.DISTRACTOR),
        ("agreement/coord_np", Corruption.FEATURE_FLIP),
        ("coreference/name", Corruption.REMOVAL),
        ("coreference/transfer", Corruption.ROLE_FLIP),
        ("long_range", Corruption.ROLE_FLIP),
    ],
)
def test_items_come_back_unchanged(
    name: str, corruption: Corruption, tmp_path: Path, tokenizer: PreTrainedTokenizerFast
) -> None:
    items = build(name, tokenizer, n_pairs=6, seed=0, corruption=corruption)
    assert round_trip(items, tmp_path / "items.jsonl") == items


def test_what_people_write_comes_back_unchanged(tmp_path: Path) -> None:
    for record in (ROLE, FEATURE, without(ROLE, "source", "distractor")):
        items = pairs([record | {"labels": {"k": "v"}}])
        assert round_trip(items, tmp_path / "items.jsonl") == items


def test_a_query_and_relations_come_back_unchanged(tmp_path: Path) -> None:
    prompt = Prompt(
        text="The farmer said that he [MASK] tired",
        answer=" is",
        foil=" are",
        source=(Span(4, 10),),
        query=Span(24, 30),
        relations=[Relation("antecedent", Span(21, 23), (Span(4, 10),))],
        lexemes={"noun": "farmer"},
    )
    other = Prompt(text="The farmers said that we [MASK] tired", answer=" are", foil=" is")
    items = list(
        both_directions(
            prompt,
            other,
            pair_id="p",
            task="t",
            template_id="w",
            clusters=("c", "d"),
            corruption=Corruption.FEATURE_FLIP,
            split="confirmation",
        )
    )
    assert round_trip(items, tmp_path / "items.jsonl") == items


def test_the_second_direction_has_its_own_where_given() -> None:
    record = ROLE | {
        "corrupt": "The sheep beside the senators",
        "corrupt_answer": " are",
        "corrupt_foil": " is",
        "labels": {"decider": "present"},
        "corrupt_labels": {"decider": "absent"},
        "query": "beside",
        "relations": [{"name": "r", "query": "senators", "source": ["farmer", "beside"]}],
        "corrupt_relations": [],
    }
    a, b = pairs([record])
    assert (b.answer_text, b.foil_text, b.labels) == (" are", " is", {"decider": "absent"})
    assert (sources(b), distractors(b)) == (["sheep"], ["senators"])
    assert (a.query, b.query) == (Span(11, 17), Span(10, 16))
    assert a.relations == (Relation("r", Span(22, 30), (Span(4, 10), Span(11, 17))),)
    assert b.relations == ()


def test_relations_of_one_text_alone_are_refused() -> None:
    message = (
        "record 1: relations need corrupt_relations, those of the corrupt text; give them, or [] "
        "if it has none."
    )
    relation = {"name": "r", "query": "senators", "source": "farmer"}
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        pairs([ROLE | {"relations": [relation]}])


def test_a_lone_direction_is_not_written(tmp_path: Path) -> None:
    items = pairs([ROLE])
    message = 'item "pair0001.a" stands alone; give both directions of each pair.'
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        write_pairs(items[:1], tmp_path / "items.jsonl")
    message = (
        'items "pair0001.b" and "pair0001.a" are not the two directions of a pair, its a and its '
        "b; give both directions of each pair, one after the other."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        write_pairs(items[::-1], tmp_path / "items.jsonl")
