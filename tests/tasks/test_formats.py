"""Which reader takes a file, and people's own pairs line by line."""

import json
import re

import pytest

from interp.tasks.readers.formats import read_file
from interp.tasks.readers.own import read_own

GOOD = {
    "clean": "The farmer beside the pilots",
    "corrupt": "The farmer knew the pilots",
    "answer": " is",
    "foil": " are",
    "source": "farmer",
    "distractor": "pilots",
}


def written(path, *lines):
    path.write_text(
        "".join(f"{each if isinstance(each, str) else json.dumps(each)}\n" for each in lines)
    )
    return path


def test_each_bad_line_is_named_and_the_good_ones_are_kept(tmp_path, tokenizer):
    """The tokenizer cuts a text's first The in two."""
    path = written(
        tmp_path / "mine.jsonl",
        GOOD,
        {**GOOD, "corrupt": "The farmer knew near the pilots"},
        {key: value for key, value in GOOD.items() if key != "foil"},
        "not json",
        "",
        {**GOOD, "pair_id": "pair0001"},
        {**GOOD, "source": "nobody"},
        {**GOOD, "clean": "The doctor beside the pilots", "corrupt": "The doctor knew the pilots",
         "source": "doctor"},
    )  # fmt: skip
    kept = read_own(path, tokenizer)
    assert [item.item_id for item in kept.items] == [
        "pair0001.a",
        "pair0001.b",
        "pair0008.a",
        "pair0008.b",
    ]
    assert dict(kept.dropped.itertuples(index=False)) == {
        f"{path}, line 2": 'pair "pair0002", item "pair0002.a": clean and corrupt must have '
        "equally many tokens, got 6 and 7; reword one of them.",
        f"{path}, line 3": 'field "foil": Field required.',
        f"{path}, line 4": "expected one JSON object, got Expecting value at column 1.",
        f"{path}, line 6": f'field "pair_id": "pair0001" is taken by {path}, line 1; give each '
        "pair its own.",
        f"{path}, line 7": 'field "source": expected a phrase that stands once in "The farmer '
        'beside the pilots", got "nobody", which stands there 0 times; give [start, end] in '
        "characters.",
    }


SENTENCES = "sentid\tsentence\ncook.guest.0.male.txt\tThe cook told the guest that he left."
TEMPLATES = (
    "occupation(0)\tother-participant(1)\tanswer\tsentence\n"
    "cook\tguest\t0\tThe $OCCUPATION told the $PARTICIPANT that $NOM_PRONOUN left."
)
SUBJECTS = "orig_sentence\tsubj_index\tverb_index\tn_diff_intervening\nthe old cook sings\t3\t4\t0"
BLIMP = json.dumps(
    {
        "UID": "set", "sentence_good": "a b", "sentence_bad": "a c", "one_prefix_method": False,
    }
)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "text", "called", "n_items"),
    [
        ("mine.jsonl", json.dumps(GOOD), "own pairs", 2),
        ("set.jsonl", BLIMP, "BLiMP", 0),
        ("a.tsv", SENTENCES, "Winogender sentences", 1),
        ("a.tsv", TEMPLATES, "Winogender templates", 6),
        ("a.tsv", SUBJECTS, "a table of subject and verb", 1),
        ("a.txt", "1 [The cook] told the guest that [he] left.", "WinoBias", 1),
    ],
)
def test_the_ending_and_the_first_line_say_how_a_file_is_read(
    name, text, called, n_items, tmp_path, tokenizer
):
    said, kept = read_file(written(tmp_path / name, text), tokenizer)
    assert said == called
    assert len(kept.items) == n_items


def test_another_ending_or_header_is_one_sentence(tmp_path, tokenizer):
    path = written(tmp_path / "a.csv", "x")
    message = (
        f"expected a file that ends in .jsonl, .conllu, .tsv, .txt, got {path}; the ending says "
        "how it is read."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        read_file(path, tokenizer)
    path = written(tmp_path / "a.tsv", "x\ty")
    message = (
        f"{path}, line 1: expected a header with one of the columns sentid, occupation(0), "
        "orig_sentence, got x, y."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        read_file(path, tokenizer)
