"""Balanced sets pass; each rule refuses a set planted against it."""

import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from interp.items import Corruption, Span
from interp.tasks import build, families
from interp.tasks.balance import balance, cohen_d, require_balance

SETS = [
    (family.name, corruption)
    for phenomenon in ("agreement", "coreference")
    for family in families(phenomenon)
    if family.name != phenomenon
    for corruption in family.corruptions
]


@pytest.fixture(scope="module")
def pp1(tokenizer):
    return build("agreement/pp1", tokenizer, n_pairs=64, seed=0)


def holds(items, tokenizer):
    table = balance(items, tokenizer)
    return table.groupby("rule")["holds"].all().to_dict()


NUMBERS = [
    (name, corruption, n_pairs)
    for name, corruption in SETS
    for n_pairs in ((64,) if corruption is Corruption.DISTRACTOR else (64, 77))
]
"""Where both directions have one answer, only numbers that fill the cells can be balanced."""


@pytest.mark.parametrize(("name", "corruption", "n_pairs"), NUMBERS)
def test_every_family_is_balanced(name, corruption, n_pairs, tokenizer):
    items = build(name, tokenizer, n_pairs=n_pairs, seed=3, corruption=corruption)
    assert all(holds(items, tokenizer).values())


def test_a_number_of_pairs_that_cannot_be_balanced_is_refused(tokenizer):
    with pytest.raises(ValueError) as error:
        build("agreement/coord_np", tokenizer, n_pairs=77, seed=3, corruption=Corruption.DISTRACTOR)
    assert 'the 154 items are not balanced: rule "rank" wants at most 0.1' in str(error.value)


def test_a_full_design_has_every_cell_as_often(pp1):
    counts = Counter(
        (
            item.template_id,
            item.labels["source_slot"],
            item.labels["source_number"],
            item.answer_text,
        )
        for item in pp1
    )
    assert set(counts.values()) == {1}
    assert len(counts) == 4 * 2 * 2 * 8  # templates, slots, numbers, verbs in that number


def without_a_cell(items):
    return [
        item
        for item in items
        if (item.template_id, item.labels["source_number"]) != ("pp1-near-said", "plural")
    ]


def with_more_answers(items):
    two = [replace(item, answer_text=" is", foil_text=" are") for item in items[:8]]
    return [*two, *items[8:]]


def with_a_word_too_often(items):
    return [replace(item, lexemes=item.lexemes | {"noun": "farmer"}) for item in items[:30]] + list(
        items[30:]
    )


def where_the_first_is_singular(items):
    first = {"singular": "first", "plural": "second"}
    return [
        item for item in items if item.labels["source_slot"] == first[item.labels["source_number"]]
    ]


def one_direction(items):
    return items[0::2]


def answers_of_lower_rank(items, tokenizer):
    def rank(word):
        return tokenizer(word, add_special_tokens=False)["input_ids"][0]

    return [item for item in items if rank(item.answer_text) < rank(item.foil_text)]


def where_singulars_are_long(items):
    """A word more before the texts whose answer is first in the alphabet."""
    shifted = []
    for item in items:
        if item.answer_text < item.foil_text:
            move = len("Now ")
            moved = tuple(Span(start + move, end + move) for start, end in item.source)
            shifted.append(replace(item, clean_text=f"Now {item.clean_text}", source=moved))
        else:
            shifted.append(item)
    return shifted


def in_both_splits(items):
    return [replace(items[0], split="confirmation"), *items[1:]]


@pytest.mark.parametrize(
    ("rule", "plant"),
    [
        ("cells", without_a_cell),
        ("answers", with_more_answers),
        ("lexemes", with_a_word_too_often),
        ("slot", where_the_first_is_singular),
        ("place", lambda items: [i for i in items if i.labels["source_slot"] == "first"]),
        ("length", where_singulars_are_long),
        ("position", where_singulars_are_long),
        ("one split", in_both_splits),
    ],
)
def test_each_rule_refuses_what_it_is_for(rule, plant, pp1, tokenizer):
    assert holds(pp1, tokenizer)[rule]
    assert not holds(plant(pp1), tokenizer)[rule]


def test_answers_of_another_rank_are_refused(pp1, tokenizer):
    assert holds(pp1, tokenizer)["rank"]
    assert not holds(answers_of_lower_rank(pp1, tokenizer), tokenizer)["rank"]


def test_sources_nearer_for_one_answer_are_refused(tokenizer):
    """Simple sentences with an adverb more for one number: position is the same, distance not."""
    items = [
        replace(item, clean_text=f"{item.clean_text} always")
        if item.answer_text < item.foil_text
        else item
        for item in build("agreement/simple", tokenizer, n_pairs=64, seed=0)
    ]
    found = holds(items, tokenizer)
    assert (found["position"], found["distance"]) == (True, False)


def test_an_unbalanced_set_is_refused_in_one_sentence(pp1, tokenizer):
    message = (
        'the 128 items are not balanced in discovery: rule "answers" wants at most 2, got 8 (is); '
        "correct the design, or the words in data."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        require_balance(with_more_answers(pp1), tokenizer)
    require_balance(pp1, tokenizer)


def test_building_refuses_an_unbalanced_design(tokenizer, monkeypatch):
    """A design that gives every pair the first cell does not get through `build`."""
    from interp.tasks import features

    def one_cell(n, rng, *factors):
        return [tuple(levels[0] for levels in factors)] * n

    monkeypatch.setattr(features, "balanced_cells", one_cell)
    with pytest.raises(
        ValueError, match=r'^the 128 items are not balanced in discovery: rule "answers"'
    ):
        build("agreement/pp1", tokenizer, n_pairs=64, seed=0, corruption=Corruption.DISTRACTOR)


def test_few_pairs_are_not_held_to_it(tokenizer):
    assert len(build("agreement/pp1", tokenizer, n_pairs=3, seed=0)) == 6


def test_cohens_d_by_hand():
    one, other = np.array([1.0, 2.0, 3.0]), np.array([2.0, 3.0, 4.0])
    assert cohen_d(one, other) == -1.0  # a difference of 1, both of deviation 1
    assert cohen_d(other, one) == 1.0
    assert cohen_d(one, one) == 0.0
    assert cohen_d(np.array([1.0, 1.0]), np.array([2.0, 2.0])) == -np.inf


def test_a_vanishing_balance_follows_from_both_directions(pp1, tokenizer):
    """Both directions exchange answer and foil, source and distractor: differences cancel."""
    table = balance(pp1, tokenizer).set_index("rule")
    for rule in ("answers", "rank", "place", "length"):
        assert (table.loc[[rule], "value"] == 0).all()
