"""BLiMP: lines of a set that call for each other's word become pairs."""

import json

import pytest

from interp.tasks import check
from interp.tasks.readers import read_blimp
from tests.tasks.conftest import bpe
from tests.tasks.readers.conftest import reasons

WORDS = ["The", "the", "judge", "poet", "poets", "near", "beside", "is", "are", "was", "were"]


@pytest.fixture(scope="module")
def tokenizer():
    """Each of `WORDS` is one token after a space; "isn't" and "aren't" are several."""
    return bpe(WORDS, vocab_size=2_000)


def line(prefix, good, bad, **changes):
    record = {
        "sentence_good": f"{prefix} {good} tired.",
        "sentence_bad": f"{prefix} {bad} tired.",
        "one_prefix_prefix": prefix,
        "one_prefix_word_good": good,
        "one_prefix_word_bad": bad,
        "UID": "own_agreement",
        "one_prefix_method": True,
        "pairID": "0",
    }
    return json.dumps(record | changes)


def test_a_pair_is_two_lines_that_call_for_each_others_word(write, tokenizer):
    path = write(line("The judge", "is", "are"), line("The poets", "are", "is"))
    reading = read_blimp(path, tokenizer)
    told = [
        (item.item_id, item.clean_text, item.corrupt_text, item.answer_text, item.foil_text)
        for item in reading.items
    ]
    assert told == [
        ("own_agreement.0002.a", "The poets", "The judge", " are", " is"),
        ("own_agreement.0002.b", "The judge", "The poets", " is", " are"),
    ]
    assert reading.dropped.empty
    first, second = reading.items
    assert first.clusters == second.clusters == ("prefix1:The poets", "prefix2:The judge")
    assert (first.source, first.distractors) == ((), ())
    assert first.labels == {"answer": "are", "n_changed": "1"}
    for item in reading.items:
        check(item, tokenizer)


def test_lines_are_matched_so_that_the_fewest_tokens_differ(write, tokenizer):
    """Two pairs are possible both ways; one way 2 tokens differ in all, the other way 6."""
    path = write(
        line("The judge near the poet", "is", "are"),
        line("The judge beside the poets", "is", "are"),
        line("The poets beside the poets", "are", "is"),
        line("The poets near the poet", "are", "is"),
    )
    reading = read_blimp(path, tokenizer)
    texts = {frozenset((item.clean_text, item.corrupt_text)) for item in reading.items}
    assert texts == {
        frozenset(("The judge near the poet", "The poets near the poet")),
        frozenset(("The judge beside the poets", "The poets beside the poets")),
    }
    assert {item.labels["n_changed"] for item in reading.items} == {"1"}


def test_what_cannot_be_used_is_left_out_with_its_reason(write, tokenizer):
    """Public case: words of one piece and of two are not compared, and are counted."""
    n_pieces = len(tokenizer(" isn't")["input_ids"])
    path = write(
        line("The judge", "is", "are"),
        line("The judge", "isn't", "are"),
        line("The judge", "is", "are"),
        line("The judge near the poet", "is", "are"),
        line("The poets", "are", "is", one_prefix_method=False),
        line("The poets", "are", "is", sentence_bad="The poet is tired."),
        line("The poets", "was", "were"),
    )
    reading = read_blimp(path, tokenizer)
    assert reading.items == ()
    alone = "no other line calls for the other word after as many tokens"
    assert sorted(reasons(reading)) == [
        ("1", alone),
        ("2", f'" isn\'t" is {n_pieces} tokens'),
        ("3", "an earlier line has this prefix and these words"),
        ("4", alone),
        ("5", "the set is not for the one-prefix method"),
        ("6", "a sentence does not begin with its prefix and word"),
        ("7", alone),
    ]


def test_one_prefix_with_both_answers_is_no_pair(write, tokenizer):
    path = write(line("The judge", "is", "are"), line("The judge", "are", "is"))
    reading = read_blimp(path, tokenizer)
    assert reading.items == ()
    assert all("are the same tokens" in reason for _, reason in reasons(reading))
    assert [place for place, _ in reasons(reading)] == ["2", "1"]


def test_a_set_without_prefixes_is_left_out(write, tokenizer):
    record = {"UID": "x", "sentence_good": "a", "sentence_bad": "b", "one_prefix_method": False}
    reading = read_blimp(write(json.dumps(record)), tokenizer)
    assert reasons(reading) == [("1", "the set is not for the one-prefix method")]


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (
            [line("The judge", "is", "are"), '{"UID": "x"}'],
            'line 2: field "sentence_good": Field required.',
        ),
        (
            [line("The judge", 3, "are")],
            'line 1: field "one_prefix_word_good": Input should be a valid string.',
        ),
        (["{"], "line 1: expected one JSON object, got Expecting property name enclosed in"),
    ],
)
def test_a_bad_line_is_named_with_its_field(write, tokenizer, lines, problem):
    path = write(*lines)
    with pytest.raises(ValueError) as error:
        read_blimp(path, tokenizer)
    assert str(error.value).startswith(f"{path}, {problem}")
