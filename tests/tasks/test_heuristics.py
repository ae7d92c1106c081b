import pandas as pd
import pytest

from interp.items import Corruption, Prompt, Span, both_directions
from interp.tasks import build, families
from interp.tasks.heuristics import heuristics


def item_of(text, answer, foil, source, *, number, split, other=None, labels=None):
    def at(word):
        return [Span(text.index(word), text.index(word) + len(word))]

    prompt = Prompt(
        text=text,
        answer=answer,
        foil=foil,
        source=at(source),
        distractors=at(other) if other else [],
        labels=labels or {},
    )
    return both_directions(
        prompt,
        prompt,
        pair_id=f"p{number}",
        task="t",
        template_id="t",
        clusters=(f"c{number}",),
        split=split,
    )[0]


def accuracy(items):
    return heuristics(items).set_index("heuristic")["accuracy"].to_dict()


def test_by_hand():
    """Three items taught, two asked, and the other way round.

    Bigram, asked of the second half: after "cats" came " are" twice and " is" never, so " are" is
    right: 1; "dogs" was never last: a half. Asked of the first half: "cats" was followed by
    " are" once: 1, 1; "dog" was not: a half. Together (1 + .5 + 1 + 1 + .5) / 5 = .8.
    Last word: "ts" of "cats" 1 and "gs" unseen a half; then 1, 1, and "og" a half: .8.
    """
    items = [
        item_of("The old cats", " are", " is", "cats", number=0, split="discovery"),
        item_of("Our cats", " are", " is", "cats", number=1, split="discovery"),
        item_of("The old dog", " is", " are", "dog", number=2, split="discovery"),
        item_of("Many cats", " are", " is", "cats", number=3, split="confirmation"),
        item_of("Many dogs", " are", " is", "dogs", number=4, split="confirmation"),
    ]
    found = accuracy(items)
    assert found["bigram"] == found["last word"] == pytest.approx(0.8)
    assert found["nearest noun"] == found["first name"] == 1.0


def test_a_bag_of_words_adds_its_words():
    """ "red" came with " is" twice and " are" once, "box" with " are" twice, "old" never.

    "The red box": log (2 + 1) / (1 + 1) for " is" and log (0 + 1) / (2 + 1) against it: " are".
    """
    taught = [
        item_of("red cat", " is", " are", "cat", number=0, split="discovery"),
        item_of("red cup", " is", " are", "cup", number=1, split="discovery"),
        item_of("red box", " are", " is", "box", number=2, split="discovery"),
        item_of("big box", " are", " is", "box", number=3, split="discovery"),
    ]
    asked = item_of("old red box", " are", " is", "box", number=4, split="confirmation")
    table = heuristics([*taught, asked])
    assert table["n_items"].tolist() == [5] * 5
    # Taught by the one asked, "red" and "box" speak for " are": wrong, wrong, right, right.
    assert accuracy([*taught, asked])["bag of words"] == pytest.approx((1 + 0 + 0 + 1 + 1) / 5)


def test_the_nearest_and_the_first_candidate():
    far = item_of("a cat by dogs", " is", " are", "cat", number=0, split="discovery", other="dogs")
    near = item_of("a cat by dogs", " are", " is", "dogs", number=1, split="discovery", other="cat")
    assert accuracy([far])["nearest noun"] == accuracy([near])["first name"] == 0.0
    assert accuracy([far])["first name"] == accuracy([near])["nearest noun"] == 1.0
    agreeing = item_of(
        "a cat by a dog",
        " is",
        " are",
        "cat",
        number=0,
        split="discovery",
        other="dog",
        labels={"match": "match"},
    )
    assert accuracy([agreeing])["nearest noun"] == 1.0


def test_items_without_a_decider_are_not_asked(tokenizer):
    items = build("agreement/pp1", tokenizer, n_pairs=8, seed=0, corruption=Corruption.REMOVAL)
    assert heuristics(items)["n_items"].tolist() == [8] * 5


ROLE_FLIPS = [
    family.name
    for phenomenon in ("agreement", "coreference")
    for family in families(phenomenon)
    if "/" in family.name and "role_flip" in family.corruptions
]


def test_role_flips_are_at_chance(tokenizer):
    """512 pairs of each family, pooled over both roles; within three points of a half."""
    tables = [
        heuristics(build(name, tokenizer, n_pairs=512, seed=0)).assign(name=name)
        for name in ROLE_FLIPS
    ]
    table = pd.concat(tables)
    assert len(table) == 5 * len(ROLE_FLIPS)
    assert table["accuracy"].between(0.47, 0.53).all(), table


def test_a_cue_that_is_left_in_is_found(tokenizer):
    """Simple sentences end in their subject: the ending of the last word gives the answer away."""
    items = build("agreement/simple", tokenizer, n_pairs=64, seed=0)
    assert accuracy(items)["last word"] > 0.6
