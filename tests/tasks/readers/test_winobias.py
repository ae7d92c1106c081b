"""WinoBias: brackets say who is meant; who else is there is found by name."""

import pytest

from interp.tasks.readers import read_winobias
from tests.tasks.readers.conftest import reasons, told


def test_numbers_and_brackets_are_no_part_of_the_text(write):
    path = write(
        "1 [The gardener] fed the night guard since [she] had soup.",
        "2 The gardener fed [the night guard] since [his] pot was empty.",
        "The [gardener] waved and [she] brushed [her] coat.",
    )
    reading = read_winobias(path)
    assert [item.text for item in reading.items] == [
        "The gardener fed the night guard since she had soup.",
        "The gardener fed the night guard since his pot was empty.",
        "The gardener waved and she brushed her coat.",
    ]
    assert [told(item) for item in reading.items] == [
        ("she", ["gardener"], ["night guard"]),
        ("his", ["night guard"], ["gardener"]),
        ("she", ["gardener"], []),
    ]
    assert [item.labels["gender"] for item in reading.items] == [
        "feminine",
        "masculine",
        "feminine",
    ]
    assert reading.items[0].clusters == reading.items[1].clusters
    assert reading.dropped.empty


def test_what_cannot_be_used_is_left_out_with_its_reason(write):
    path = write("[The gardener] fed [the guard].", "[The gardener] fed [the guard] as [he] fell.")
    reading = read_winobias(path)
    assert reading.items == ()
    assert reasons(reading) == [
        ("1", "no pronoun in brackets"),
        ("2", "expected one person in brackets, got 2"),
    ]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (
            "[The gardener fed [the guard].",
            'expected each "[" to be closed by a "]" before the next, got "[The gardener fed [the '
            'guard].".',
        ),
        (
            "The gardener] fed [the guard].",
            'expected each "[" to be closed by a "]" before the next, got "The gardener] fed [the '
            'guard].".',
        ),
        (
            "[The gardener] fed [the guard.",
            'expected a "]" after the last "[", got "[The gardener] fed [the guard.".',
        ),
    ],
)
def test_a_bad_line_is_named(write, line, problem):
    path = write("", line)
    with pytest.raises(ValueError) as error:
        read_winobias(path)
    assert str(error.value) == f"{path}, line 2: {problem}"
