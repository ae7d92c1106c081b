"""Linzen's tables: subject and verb by position, attractors by part of speech."""

import pytest

from interp.tasks.readers import read_linzen
from tests.tasks.readers.conftest import reasons, told

HEADER = "orig_sentence\tpos_sentence\tsubj_index\tverb_index\tn_diff_intervening"
ROW = "the roses by the old wall need rain .\tDT NNS IN DT JJ NN VBP NN .\t2\t7\t1"


def test_two_queries_a_row(write):
    reading = read_linzen(write(HEADER, ROW, name="own.tsv"))
    assert [told(item) for item in reading.items] == [
        ("need", ["roses"], ["wall"]),
        ("wall", ["roses"], ["wall"]),
    ]
    verb, before = reading.items
    assert (verb.item_id, before.item_id) == ("own.tsv.2.verb", "own.tsv.2.before verb")
    assert before.labels == {"query": "before verb", "n_attractors": "1"}
    assert len(verb.words) == 9


def test_parts_of_speech_may_be_missing(write):
    header = HEADER.replace("pos_sentence\t", "")
    path = write(header, "the roses near walls need rain\t2\t5\t0")
    assert [told(item) for item in read_linzen(path).items] == [
        ("need", ["roses"], []),
        ("walls", ["roses"], []),
    ]


def test_what_cannot_be_used_is_left_out_with_its_reason(write):
    path = write(
        HEADER, "roses need rain\tNNS VBP NN\t1\t2\t0", "there are roses\tEX VB NN\t3\t2\t0"
    )
    reading = read_linzen(path)
    assert [told(item) for item in reading.items] == [("need", ["roses"], [])]
    assert reasons(reading) == [
        ("2, before verb", "the word before the verb is the subject itself"),
        ("3", "the verb comes before its subject"),
    ]


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        (
            ROW.replace("\t7\t", "\t10\t"),
            'field "verb_index": expected a word of the sentence, 1 to 9, got "10".',
        ),
        (
            ROW.replace("\t2\t", "\tsecond\t"),
            'field "subj_index": expected a word of the sentence, 1 to 9, got "second".',
        ),
        (
            ROW.replace("DT JJ", "DT"),
            'field "pos_sentence": expected 9 tags, one for each word, got 8.',
        ),
    ],
)
def test_a_bad_row_is_named_with_its_field(write, row, problem):
    path = write(HEADER, ROW, row)
    with pytest.raises(ValueError) as error:
        read_linzen(path)
    assert str(error.value) == f"{path}, line 3: {problem}"
