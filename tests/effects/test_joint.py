"""Several heads at once: planted OR and AND, identities, and the plain loop."""

import numpy as np
import pytest
import torch

from interp.effects import LOGIT_DIFFERENCE, Resample, Scope, Zero, sweep
from interp.effects.curves import area, captured
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


def test_the_causal_order_captures_all_and_an_order_without_effect_nothing(planted):
    """Of induction's heads two matter; an order that begins with heads at rest captures 0."""
    model, batch = planted("induction")
    matter = [Head(1, 0), Head(0, 0)]
    idle = [head for head in model.heads if head not in matter][:2]
    found = captured(model, [batch], {"causal": matter, "idle": idle}, k_max=2, n_random=5, **ZERO)
    by = found.set_index(["order", "k"])
    assert by.loc[("causal", 1), "share"] == by.loc[("causal", 2), "share"] == 1
    assert by.loc["idle"]["share"].abs().max() < 1e-3
    assert area(found)["causal"] == 1
    assert set(found["order"]) == {"causal", "idle", "random"}


def test_a_random_order_is_matched_by_layer(tiny):
    from interp.effects.curves import _matched

    order = [Head(3, 1), Head(0, 2), Head(3, 0), Head(3, 3), Head(3, 2)]
    drawn = _matched(tiny, order, np.random.default_rng(0))
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
            lambda: captured(tiny, [batch], {"cas": tiny.heads}),
            "expected an order called 'causal' among cas.",
        ),
    ):
        with pytest.raises(ValueError) as error:
            call()
        assert str(error.value) == message
    assert torch.equal(batch.donor[batch.donor], torch.arange(len(batch)))
