"""Pronouns and their antecedents: in the sentence, in the sentences before, never elsewhere."""

import pytest

from interp.tasks.readers import read_pronouns
from tests.tasks.readers.conftest import reasons, told
from tests.tasks.readers.garden import LINES


def test_items_by_hand(write):
    """`Ann` also heads a mention of two people; as an antecedent it is no distractor."""
    reading = read_pronouns(write(*LINES), n_sentences=2)
    assert {item.item_id: told(item) for item in reading.items} == {
        "garden-2.4.pronoun": ("her", ["Ann"], ["roses", "wall"]),
        "garden-2.4.before pronoun": ("and", ["Ann"], ["roses", "wall"]),
        "garden-2.7.pronoun": ("them", ["roses"], ["wall", "Ann", "her", "gardener"]),
        "garden-2.7.before pronoun": ("prune", ["roses"], ["wall", "Ann", "her", "gardener"]),
        "garden-3.5.pronoun": ("she", ["Ann", "her"], ["gardener", "them"]),
        "garden-3.5.before pronoun": ("how", ["Ann", "her"], ["gardener", "them"]),
    }
    items = {item.item_id: item for item in reading.items}
    assert items["garden-2.7.pronoun"].text == (
        "The roses near the old wall don't bloom. Ann Lee and her gardener prune them."
    )
    assert items["garden-3.5.pronoun"].clusters == ("document:garden",)
    assert items["garden-3.5.pronoun"].labels == {
        "query": "pronoun",
        "pronoun": "she",
        "antecedent": "pronoun",
        "distance": "9",
    }


def test_what_cannot_be_used_is_left_out_with_its_reason(write):
    """An expletive; and a person of another document, whose entity has the same number."""
    assert reasons(read_pronouns(write(*LINES), n_sentences=2)) == [
        ("38, pronoun", "the pronoun is no mention of an entity"),
        ("49, pronoun", "no earlier mention of the entity in the text"),
    ]


def test_the_text_is_as_long_as_was_asked_for(write):
    """With one sentence, what `them` and `she` mean is out of sight."""
    alone = read_pronouns(write(*LINES), n_sentences=1)
    assert {item.labels["pronoun"] for item in alone.items} == {"her"}
    assert {item.text for item in alone.items} == {"Ann Lee and her gardener prune them."}
    three = read_pronouns(write(*LINES), n_sentences=3)
    she = next(item for item in three.items if item.item_id == "garden-3.5.pronoun")
    assert told(she)[2] == ["roses", "wall", "gardener", "them"]


def test_no_sentence_is_refused(write):
    with pytest.raises(ValueError, match="n_sentences must be at least 1, got 0"):
        read_pronouns(write(*LINES), n_sentences=0)
