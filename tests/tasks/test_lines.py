"""Lines with their places; what is not text, or not of the format, is refused in one sentence."""

import pickle

import pytest

from interp.tasks.lines import json_lines, table_lines, text_lines


def written(folder, content, name="file.txt"):
    path = folder / name
    path.write_bytes(content)
    return path


def test_lines_are_numbered_from_one_and_cut_at_line_breaks_only(tmp_path):
    """A byte-order mark and carriage returns go; a line separator within a sentence stays."""
    path = written(tmp_path, "\ufeffone\r\n\ntwo\u2028three\n".encode())
    assert [(line.number, line.value) for line in text_lines(path)] == [
        (1, "one"),
        (2, ""),
        (3, "two\u2028three"),
        (4, ""),
    ]
    assert next(iter(text_lines(path))).place == f"{path}, line 1"


@pytest.mark.parametrize("name", ["pairs.pickle", "pairs.jsonl"])
def test_a_pickle_is_not_read(tmp_path, name):
    """By name or by its first byte: loading one would run what is in it."""
    path = written(tmp_path, pickle.dumps({"simple": [("a", "b")]}), name)
    with pytest.raises(ValueError) as error:
        list(json_lines(path))
    assert str(error.value) == (
        f"{path} is a pickle, and to load one is to run the code in it; have it written as JSON "
        "Lines where its maker is trusted, and give that file."
    )


def test_what_is_not_utf_8_is_refused_with_its_line(tmp_path):
    path = written(tmp_path, "one\ncafé".encode("latin-1"))
    with pytest.raises(ValueError) as error:
        list(text_lines(path))
    assert str(error.value) == (
        f"{path}, line 2: expected UTF-8 text, got the byte 0xe9; save the file as UTF-8."
    )


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file .*none.txt; give the path"):
        list(text_lines(tmp_path / "none.txt"))


def test_a_table_has_a_dictionary_for_each_row(tmp_path):
    path = written(tmp_path, b'a\tb\n1\t"x\n\n2\ty\n')
    rows = [(line.number, line.value) for line in table_lines(path, columns=["a"])]
    assert rows == [(2, {"a": "1", "b": '"x'}), (4, {"a": "2", "b": "y"})]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"a\tc\n1\t2\n", ', line 1: expected a header with the column "b", got a, c.'),
        (
            b"a\tb\n1\n",
            ", line 2: expected 2 cells, one for each column of the header, got 1.",
        ),
    ],
)
def test_a_bad_table_is_named_with_its_line(tmp_path, content, problem):
    path = written(tmp_path, content)
    with pytest.raises(ValueError) as error:
        list(table_lines(path, columns=["a", "b"]))
    assert str(error.value) == f"{path}{problem}"
