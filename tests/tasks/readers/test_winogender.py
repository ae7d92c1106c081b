"""Winogender: whom a pronoun means, from sentences and from templates."""

import pytest

from interp.tasks.readers import read_winogender, read_winogender_templates
from tests.tasks.readers.conftest import reasons, told

SENTENCES = "sentid\tsentence"
TEMPLATES = "occupation(0)\tother-participant(1)\tanswer\tsentence"


def test_the_name_says_who_is_meant(write):
    path = write(
        SENTENCES,
        "gardener.guest.0.female.txt\tThe gardener waved to the guest while her roses grew.",
        "gardener.guest.1.neutral.txt\tThe gardener waved to the guest because they left.",
    )
    reading = read_winogender(path)
    assert [told(item) for item in reading.items] == [
        ("her", ["gardener"], ["guest"]),
        ("they", ["guest"], ["gardener"]),
    ]
    first, second = reading.items
    assert first.item_id == "gardener.guest.0.female"
    assert first.clusters == second.clusters == ("occupation:gardener",)
    assert first.labels == {"gender": "female", "means": "occupation", "participant": "named"}
    assert second.labels == {"gender": "neutral", "means": "participant", "participant": "named"}
    assert reading.dropped.empty


def test_a_template_makes_six_sentences(write):
    path = write(
        TEMPLATES,
        "gardener\tguest\t1\tThe $PARTICIPANT thanked the $OCCUPATION after $NOM_PRONOUN was fed.",
    )
    items = {item.item_id: item for item in read_winogender_templates(path).items}
    assert {name: item.text for name, item in items.items()} == {
        "gardener.guest.1.male": "The guest thanked the gardener after he was fed.",
        "gardener.guest.1.female": "The guest thanked the gardener after she was fed.",
        "gardener.guest.1.neutral": "The guest thanked the gardener after they were fed.",
        "gardener.someone.1.male": "Someone thanked the gardener after he was fed.",
        "gardener.someone.1.female": "Someone thanked the gardener after she was fed.",
        "gardener.someone.1.neutral": "Someone thanked the gardener after they were fed.",
    }
    assert told(items["gardener.someone.1.male"]) == ("he", ["Someone"], ["gardener"])


def test_what_cannot_be_used_is_left_out_with_its_reason(write):
    path = write(
        SENTENCES,
        "gardener.guest.0.male.txt\tThe gardener saw the guest when he fell on his knees.",
        "gardener.guest.0.male.txt\tThe gardener saw the visitor when he fell.",
    )
    reading = read_winogender(path)
    assert reading.items == ()
    assert reasons(reading) == [
        ("2", "expected one male pronoun, got 2"),
        ("3", "expected occupation and participant once each"),
    ]


@pytest.mark.parametrize(
    ("reader", "lines", "problem"),
    [
        (
            read_winogender,
            [SENTENCES, "gardener.guest.2.male.txt\tx"],
            'line 2: expected a name of the form "occupation.participant.0 or 1.male, female or '
            'neutral", got "gardener.guest.2.male".',
        ),
        (
            read_winogender,
            ["sentid\ttext"],
            'line 1: expected a header with the column "sentence", got sentid, text.',
        ),
        (
            read_winogender_templates,
            [TEMPLATES, "gardener\tguest\t0\tThe $OCCUPATION saw the guest."],
            'line 2: field "sentence": expected the slot $PARTICIPANT, got "The $OCCUPATION saw '
            'the guest.".',
        ),
    ],
)
def test_a_bad_line_is_named(write, reader, lines, problem):
    path = write(*lines)
    with pytest.raises(ValueError) as error:
        reader(path)
    assert str(error.value) == f"{path}, {problem}"
