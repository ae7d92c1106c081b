"""Verb and subject: the verb's own word, and the word before the verb group."""

from interp.tasks.readers import read_subjects
from tests.tasks.readers.conftest import reasons, told
from tests.tasks.readers.garden import LINES


def test_items_by_hand(write):
    reading = read_subjects(write(*LINES))
    assert {item.item_id: told(item) for item in reading.items} == {
        "garden-1.2.verb": ("bloom", ["roses"], ["wall"]),
        "garden-1.2.before verb": ("wall", ["roses"], ["wall"]),
        "garden-2.1.verb": ("prune", ["Ann"], ["Lee", "her", "gardener"]),
        "garden-2.1.before verb": ("gardener", ["Ann"], ["Lee", "her", "gardener"]),
        "garden-3.5.verb": ("knew", ["she"], []),
        "garden-3.7.verb": ("rained", ["it"], ["she"]),
        "pond-1.4.verb": ("swam", ["duck"], []),
        "pond-1.5.verb": ("fed", ["he"], ["duck"]),
    }


def test_the_query_before_the_verb_is_left_out_where_it_says_nothing(write):
    itself = "the word before the verb is the subject itself"
    assert reasons(read_subjects(write(*LINES))) == [
        ("36, before verb", itself),
        ("38, before verb", itself),
        ("48, before verb", "the subject follows the verb"),
        ("49, before verb", itself),
    ]


def test_labels_and_cluster(write):
    items = {item.item_id: item for item in read_subjects(write(*LINES)).items}
    assert items["garden-1.2.before verb"].labels == {
        "relation": "nsubj",
        "query": "before verb",
        "order": "subject first",
        "number": "plural",
        "n_attractors": "1",
    }
    assert items["garden-2.1.verb"].labels["n_attractors"] == "0"
    assert items["pond-1.4.verb"].labels["order"] == "verb first"
    assert items["pond-1.5.verb"].labels["relation"] == "nsubj:pass"
    assert items["pond-1.5.verb"].clusters == ("document:pond",)
