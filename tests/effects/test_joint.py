"""Several heads at once: planted OR and AND, identities, and the plain loop."""

import numpy as np
import pytest
import torch

from interp.effects import LOGIT_DIFFERENCE, Resample, Scope, Zero, sweep
from interp.effects.curves import joint_curves, matched_order
from interp.effects.joint import conditional, interactions, joint, removed
from interp.effects.plain_loop import looped_logits
from interp.heads import Head

BOTH = [Head(0, 0), Head(0, 1)]
ZERO = {"scope": Scope.EVERYWHERE, "baseline": Zero()}


@pytest.fixture(scope="module")
def batch(tiny, items):
    (batch,) = tiny.encode(items)
    return batch


def effect(table):
    return (table["intact"] - table["edited"]).groupby(table["set"]).mean()


def test_of_an_or_each_alone_is_nothing_and_both_are_everything(planted):
    """By hand: the logit difference is 1, either previous-token head is enough for it."""
    model, batch = planted("either")
    found = interactions(model, [batch], BOTH, **ZERO)
    assert found[["effect_one", "effect_other"]].abs().max(axis=None) < 1e-3
    assert found["effect_both"].to_numpy() == pytest.approx(1, abs=1e-3)
    assert found["interaction"].to_numpy() == pytest.approx(1, abs=1e-3)
    given = conditional(model, [batch], [BOTH[1]], given=[BOTH[0]], **ZERO)
    assert given["alone"].abs().max() < 1e-3
    assert given["conditional"].to_numpy() == pytest.approx(1, abs=1e-3)


def test_of_an_and_each_alone_is_everything_and_the_second_adds_nothing(planted):
    model, batch = planted("both")
    found = interactions(model, [batch], BOTH, **ZERO)
    for column in ("effect_one", "effect_other", "effect_both"):
        assert found[column].to_numpy() == pytest.approx(1, abs=1e-3)
    assert found["interaction"].to_numpy() == pytest.approx(-1, abs=1e-3)
    given = conditional(model, [batch], [BOTH[1]], given=[BOTH[0]], **ZERO)
    assert given["conditional"].abs().max() < 1e-3


@pytest.mark.parametrize("scope", [Scope.EVERYWHERE, Scope.QUERY])
@pytest.mark.parametrize("baseline", [Resample(), Zero()])
def test_heads_of_several_layers_together_equal_the_plain_loop(tiny, batch, scope, baseline):
    sets = {"two layers": [Head(0, 1), Head(2, 3)], "all": tiny.heads, "none": []}
    found = joint(tiny, [batch], sets, scope=scope, baseline=baseline)
    for name, heads in sets.items():
        logits = looped_logits(tiny, batch, heads, scope, baseline)
        expected = LOGIT_DIFFERENCE(logits, batch.answer, batch.foil).numpy()
        edited = found.loc[found["set"] == name, "edited"].to_numpy()
        assert edited == pytest.approx(expected, abs=1e-5 * logits.abs().max().item())


def test_edges_of_one_layer_together_equal_the_plain_loop(tiny, batch):
    heads = [Head(1, 0), Head(1, 2)]
    for baseline in (Resample(), Zero()):
        found = joint(tiny, [batch], {"edges": heads}, scope=Scope.EDGE, baseline=baseline)
        logits = looped_logits(tiny, batch, heads, Scope.EDGE, baseline)
        expected = LOGIT_DIFFERENCE(logits, batch.answer, batch.foil).numpy()
        tolerance = 1e-5 * logits.abs().max().item()
        assert found["edited"].to_numpy() == pytest.approx(expected, abs=tolerance)


def test_a_set_of_one_is_that_head_in_the_sweep(tiny, batch):
    one = joint(tiny, [batch], {"L2H1": [Head(2, 1)]}, scope=Scope.QUERY)
    swept = sweep(tiny, [batch], scopes=[Scope.QUERY], heads=[Head(2, 1)])
    assert one["edited"].to_numpy() == pytest.approx(swept["edited"].to_numpy(), abs=1e-5)


def test_all_heads_removed_is_the_set_of_all_heads(tiny, batch):
    """The set of all heads by another name."""
    found = removed(tiny, [batch], scope=Scope.EVERYWHERE)
    same = joint(tiny, [batch], {"all": tiny.heads}, scope=Scope.EVERYWHERE)
    assert found["edited"].tolist() == same["edited"].tolist()
    assert found["n_heads"].unique().tolist() == [16]


def test_curves_of_an_or_and_of_an_and_by_hand(planted):
    """Either head is enough: nothing, then all. Both are needed: all, then no more."""
    for name, expected in (("either", [0, 1]), ("both", [1, 1])):
        model, batch = planted(name)
        found = joint_curves(
            model, [batch], {"causal": BOTH, "other": BOTH[::-1]}, ks=[1, 2], **ZERO
        )
        for order in ("causal", "other"):
            assert found[order] == pytest.approx(np.tile(expected, (len(batch), 1)), abs=1e-3)


def test_curves_are_the_joint_effects_of_the_leading_heads(tiny, batch, monkeypatch):
    """And orders that begin with the same heads are not computed twice."""
    orders = {
        "one": [Head(0, 1), Head(2, 3), Head(1, 1)],
        "two": [Head(2, 3), Head(0, 1), Head(3, 0)],
    }
    asked = []

    def counting(model, batches, sets, **choices):
        asked.append(len(sets))
        return joint(model, batches, sets, **choices)

    monkeypatch.setattr("interp.effects.curves.joint", counting)
    found = joint_curves(tiny, [batch], orders, ks=[1, 2, 3], scope=Scope.QUERY)
    assert asked == [5]  # of six, the first two heads are the same
    only = joint_curves(tiny, [batch], orders, ks=[2], scope=Scope.QUERY)
    for name, order in orders.items():
        assert only[name] == pytest.approx(found[name][:, [1]], abs=1e-6)
        for k in (1, 2, 3):
            table = joint(tiny, [batch], {"top": order[:k]}, scope=Scope.QUERY)
            expected = (table["intact"] - table["edited"]).to_numpy()
            assert found[name][:, k - 1] == pytest.approx(expected, abs=1e-6)


def test_a_random_order_is_matched_by_layer():
    order = [Head(3, 1), Head(0, 2), Head(3, 0), Head(3, 3), Head(3, 2)]
    drawn = matched_order(order, 4, np.random.default_rng(0))
    assert [head.layer for head in drawn] == [head.layer for head in order]
    assert sorted(drawn[place].head for place in (0, 2, 3, 4)) == [0, 1, 2, 3]


def test_requests_that_cannot_be_met_are_refused(tiny, batch):
    for call, message in (
        (lambda: joint(tiny, [batch], {}), "expected at least one set of heads, got none."),
        (
            lambda: conditional(tiny, [batch], [Head(0, 0)], given=[Head(0, 0)]),
            "L0H0 is removed beforehand; leave it out of one of the two.",
        ),
        (
            lambda: interactions(tiny, [batch], [Head(0, 0)]),
            "expected two heads or more, got 1.",
        ),
        (
            lambda: joint_curves(tiny, [batch], {"cas": [Head(0, 0)] * 2}, ks=[1, 2]),
            "the order 'cas' has 1 heads, expected 2.",
        ),
    ):
        with pytest.raises(ValueError) as error:
            call()
        assert str(error.value) == message
    assert torch.equal(batch.donor[batch.donor], torch.arange(len(batch)))
