"""Pointers and means, shared patterns, subspaces: what is put in is what it says."""

import numpy as np
import pandas as pd
import pytest
import torch

from analyses.primer.blending import share_of
from analyses.primer.division import word_lists
from analyses.primer.groups import jaccard
from analyses.primer.pointers import Kind, even, in_some, kind, pointer
from analyses.primer.recurrence import SERIES, drawn, recall_table
from analyses.primer.shared_patterns import exchanging, sharing_mean
from analyses.primer.subspaces import overlaps
from analyses.primer.together import over_random, share, with_random
from analyses.primer.training import n_parameters
from analyses.primer.two_questions import ONE, TWO, TwoQuestions, training
from interp.heads import Head
from interp.models.plain import Call, attend


@pytest.fixture
def call():
    query, key, value = torch.randn(3, 2, 4, 5, 3, generator=torch.Generator().manual_seed(0))
    mask = torch.ones(5, 5, dtype=torch.bool).tril()[None, None]
    return Call(1, query, key, value, {"scale": 0.7, "mask": mask})


def patterns(call):
    scores = (0.7 * call.query @ call.key.mT).masked_fill(~call.options["mask"], -torch.inf)
    return scores.softmax(-1)


def test_a_pointer_brings_one_value_and_a_mean_all_alike(call):
    z, best = pointer(call), patterns(call).argmax(-1)
    for item, head, query in np.ndindex(2, 4, 5):
        expected = call.value[item, head, best[item, head, query]]
        torch.testing.assert_close(z[item, head, query], expected)
        mean = call.value[item, head, : query + 1].mean(0)
        torch.testing.assert_close(even(call)[item, head, query], mean)


def test_attention_is_changed_in_one_layer_alone_and_there_in_one_head_or_in_all(call):
    torch.testing.assert_close(in_some(pointer, 0, None)(call), attend(call))
    torch.testing.assert_close(in_some(pointer, 1, None)(call), pointer(call))
    expected = attend(call)
    expected[:, 2] = pointer(call)[:, 2]
    assert not torch.equal(expected, attend(call))
    torch.testing.assert_close(in_some(pointer, 1, 2)(call), expected)


def test_heads_share_their_mean_pattern_in_the_layer_that_is_named(call):
    expected = patterns(call).mean(1, keepdim=True) @ call.value
    torch.testing.assert_close(sharing_mean(1)(call), expected)
    torch.testing.assert_close(sharing_mean(None)(call), expected)
    torch.testing.assert_close(sharing_mean(0)(call), attend(call))


def test_exchanged_patterns_are_those_of_the_head_before(call):
    expected = patterns(call)[:, [3, 0, 1, 2]] @ call.value
    torch.testing.assert_close(exchanging(call), expected)


@pytest.mark.parametrize(
    ("as_pointer", "as_mean", "expected"),
    [
        ((-0.01, 0.01), (-0.01, 0.01), Kind.EITHER),
        ((0.05, 0.1), (0.03, 0.2), Kind.BLEND),
        ((-0.01, 0.01), (0.03, 0.2), Kind.POINTER),
        ((-0.2, -0.03), (-0.01, 0.01), Kind.MEAN),
        ((-0.01, 0.05), (0.03, 0.2), Kind.UNDECIDED),
    ],
)
def test_a_head_is_what_its_exchanges_cost(as_pointer, as_mean, expected):
    row = dict(
        zip(
            ("pointer_low", "pointer_high", "mean_low", "mean_high"),
            as_pointer + as_mean,
            strict=True,
        )
    )
    assert kind(row) is expected


def test_shares_of_kinds_are_of_those_that_are_decided():
    kinds = pd.Series([Kind.POINTER, Kind.BLEND, Kind.BLEND, Kind.UNDECIDED])
    assert share_of(kinds, Kind.POINTER).value == pytest.approx(1 / 3)


def test_overlap_is_1_for_a_space_0_for_its_complement_and_as_expected_for_random_ones():
    generator = torch.Generator().manual_seed(0)
    one = torch.randn(40, 10, generator=generator)
    turned = one @ torch.randn(10, 10, generator=generator)
    assert overlaps(torch.stack([one, turned])).numpy() == pytest.approx(np.ones((2, 2)), abs=1e-5)
    whole, _ = torch.linalg.qr(torch.randn(40, 40, generator=generator))
    apart = overlaps(whole.reshape(40, 4, 10).transpose(0, 1))
    assert apart.numpy() == pytest.approx(np.eye(4), abs=1e-6)
    random = [overlaps(torch.randn(2, 40, 10, generator=generator))[0, 1] for _ in range(60)]
    assert np.mean(random) == pytest.approx(10 / 40, abs=0.01)


def test_two_heads_have_as_many_parameters_as_one_twice_as_wide():
    one, two = (n_parameters(TwoQuestions(n_heads=n_heads)) for n_heads in (1, 2))
    assert one == two
    table = training(n_seeds=1, n_steps=5, seed=0)
    assert set(table["series"]) == {ONE, TWO}
    assert table.equals(training(n_seeds=1, n_steps=5, seed=0))


def test_the_recurrent_model_is_of_equal_size_and_a_seed_trains_the_same():
    given = {
        "n_seeds": 1, "n_steps": 4, "distances": (2, 8), "trained_to": 2, "pairs": (2, 8),
        "seed": 0, "advance": lambda n: None,
    }  # fmt: skip
    table = recall_table(**given)
    sizes = table.groupby("series")["n_parameters"].first()
    assert sizes[SERIES[0]] == pytest.approx(sizes[SERIES[1]], rel=0.05)
    assert len(table) == 2 * 2 * 2
    assert table.equals(recall_table(**given))


def test_keys_of_a_question_differ_and_the_one_asked_for_is_among_them():
    keys, values, noise, asked = drawn(50, 8, 5, torch.Generator().manual_seed(0))
    assert all(len(set(row)) == 8 for row in keys.tolist())
    assert (values.shape, noise.shape, asked.shape) == ((50, 8), (50, 5), (50, 1))
    assert asked.max() < 8


def test_jaccard_is_of_heads_in_both_over_heads_in_either():
    one, other = pd.Series([True, True, False, False]), pd.Series([True, False, True, False])
    assert jaccard(one, other) == pytest.approx(1 / 3)
    assert jaccard(one & False, one & False) == 0


def test_word_lists_are_of_one_kind_and_their_texts_of_one_length(smollm2):
    items = word_lists(smollm2, n_pairs=6, seed=0)
    assert len(items) == 12
    for batch in smollm2.encode(items):
        assert (batch.answer != batch.foil).all()
    assert items == word_lists(smollm2, n_pairs=6, seed=0)


def test_random_sets_have_as_many_heads_in_each_layer_and_none_of_the_set(tiny):
    chosen = [Head(0, 1), Head(2, 0), Head(2, 3)]
    sets = with_random({"some": chosen}, tiny, n_random=2, seed=0)
    assert list(sets) == ["some", "random, like the some 0", "random, like the some 1"]
    for name, heads in sets.items():
        assert sorted(head.layer for head in heads) == [0, 2, 2]
        assert name == "some" or not set(heads) & set(chosen)


def test_shares_over_random_are_those_of_the_means():
    rows = [
        {"set": name, "item": item, "effect": effect + item, "gap": 10.0 + item,
         "cluster": f"c{item}", "other_cluster": f"c{item}"}
        for name, effect in (
            ("some", 4.0), ("random, like the some 0", 1.0), ("random, like the some 1", 2.0)
        )
        for item in range(4)
    ]  # fmt: skip
    removed = pd.DataFrame(rows)
    assert share(removed, "some").value == pytest.approx((4 + 1.5) / 11.5)
    assert share(removed, "random, like the some").value == pytest.approx((1.5 + 1.5) / 11.5)
    assert over_random(removed, "some").value == pytest.approx(2.5 / 11.5)
