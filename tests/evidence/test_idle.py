"""Heads removed together: planted OR, cells, halves that serve each other, and a plain loop."""

import numpy as np
import pytest

from interp.contrast import Thresholds
from interp.effects import LOGIT_DIFFERENCE, Resample, Scope, Zero, mean_by_position
from interp.effects.plain_loop import looped_logits
from interp.evidence import Fold, halves, idle_together, mean_folds, removal
from interp.heads import Head
from interp.stats import ratio_interval

USUAL = Thresholds()


def together(planted, name, heads, scope=Scope.EVERYWHERE):
    model, batch = planted(name)
    found = idle_together(model, mean_folds(model, [batch]), heads, scope=scope, thresholds=USUAL)
    return found.set_index("set")


def test_either_of_two_is_idle_by_itself_and_both_are_not(planted):
    """By hand: one previous-token head is enough, so each is nothing and both are everything."""
    for alone in ([Head(0, 0)], [Head(0, 1)]):
        found = together(planted, "either", alone)
        assert found["effect"].to_numpy() == pytest.approx(0, abs=1e-3)
        assert found["holds"].all()
    found = together(planted, "either", [Head(0, 0), Head(0, 1)])
    assert found["effect"].to_numpy() == pytest.approx(1, abs=1e-3)
    assert not found["holds"].any()
    assert found["n_heads"].tolist() == [2, 2]


def test_decoys_are_idle_together_and_each_layer_stands_by_itself(planted):
    """Four heads that write to no end, and a resting one: nothing; the bound is .02 × √5."""
    decoys = [Head(0, number) for number in (1, 2, 3, 4, 5)]
    found = together(planted, "decoys", decoys, Scope.QUERY)
    assert found.index.tolist() == ["total", "layer 0"]
    assert found["effect"].to_numpy() == pytest.approx(0, abs=1e-3)
    assert found["bound"].to_numpy() == pytest.approx(0.02 * 5**0.5)
    assert found["holds"].all()
    many = together(planted, "relay", [Head(0, 1), Head(1, 1)])
    assert many.index.tolist() == ["total", "layer 0", "layer 1"]
    assert many["bound"].tolist() == pytest.approx([0.02 * 2**0.5, 0.02, 0.02])


def test_the_bound_is_never_more_than_what_matters(planted):
    """Seven heads could do .053 and be nothing, if .05 did not matter."""
    found = together(planted, "lookalikes", planted("lookalikes")[0].heads)
    assert len(planted("lookalikes")[0].heads) == 7
    assert found["bound"].to_numpy() == pytest.approx(0.05)


def test_an_effect_that_is_small_and_uncertain_does_not_hold(planted):
    """+5 % on one class of names and −5 % on another: the mean is 0, its interval is not narrow."""
    found = together(planted, "lookalikes", [Head(0, 5)]).loc["total"]
    assert found["effect"] == pytest.approx(0, abs=1e-3)
    assert found["high"] > 0.02
    assert not found["holds"]


def test_the_share_is_that_of_the_plain_loop(tiny, items):
    """Second route: a hooked forward through TransformerLens, and the ratio of means."""
    batches = tiny.encode(items)
    heads = [Head(0, 1), Head(2, 3)]
    folds = mean_folds(tiny, batches)
    found = removal(tiny, folds, {"two": heads}, scope=Scope.QUERY)
    lost, whole = [], []
    for fold in folds:
        for batch in fold.batches:
            intact, edited, nothing = (
                LOGIT_DIFFERENCE(
                    looped_logits(tiny, batch, some, Scope.QUERY, fold.baseline),
                    batch.answer, batch.foil,
                )
                for some in ([], heads, tiny.heads)
            )  # fmt: skip
            lost += (intact - edited).tolist()
            whole += (intact - nothing).tolist()
    assert found.effects["two"].to_numpy() == pytest.approx(np.array(lost), abs=1e-3)
    assert found.whole == pytest.approx(np.array(whole), abs=1e-3)


def test_shares_are_ratios_of_means(planted):
    model, batch = planted("backup")
    fold = Fold(batches=[batch], baseline=Zero())
    found = removal(model, [fold], {"negative": [Head(1, 1)]}, scope=Scope.QUERY)
    share = found.share(found.effects.to_numpy(float))
    assert share.estimate == pytest.approx([-0.5 / 0.5], abs=1e-3)
    again = ratio_interval(found.effects.to_numpy(float), found.whole, found.clusters)
    assert share.low == pytest.approx(again.low)


def test_halves_are_disjoint_whole_in_clusters_and_serve_each_other(planted):
    model, batch = planted("lookalikes")
    one, other = halves([batch])
    texts = [{tuple(ids) for ids in half[0].ids.tolist()} for half in (one, other)]
    assert not texts[0] & texts[1]
    clusters = [{item.clusters[0] for item in half[0].items} for half in (one, other)]
    assert not clusters[0] & clusters[1]
    assert sorted(item.item_id for half in (one, other) for item in half[0].items) == sorted(
        item.item_id for item in batch.items
    )
    for half in (one, other):
        kinds = [item.labels["names"] for item in half[0].items]
        assert kinds.count("common") == kinds.count("rare") == len(batch) / 4
    folds = mean_folds(model, [batch])
    expected = mean_by_position(model, other, name="the other half")
    assert folds[0].baseline.texts == expected.texts
    assert folds[0].baseline.texts == texts[1]


def test_requests_that_cannot_be_met_are_refused(planted):
    model, batch = planted("decoys")
    with pytest.raises(ValueError) as error:
        idle_together(model, mean_folds(model, [batch]), [], scope=Scope.QUERY, thresholds=USUAL)
    assert str(error.value) == ("expected at least one head that would be called idle, got none.")
    with pytest.raises(ValueError) as error:
        Fold(batches=[batch], baseline=Resample())
    assert str(error.value) == (
        "item coreference-0.a is corrupted by an unnamed change, so a resample from its pair is no "
        "removal; give items of the corruption 'removal', a mean (see `mean_folds`), or Zero()."
    )
    with pytest.raises(ValueError) as error:
        halves([batch.first(2)])
    assert str(error.value) == (
        "template coreference has a single cluster of items with 7 tokens, so there is no other "
        "half to average over; give more items."
    )
    fold = Fold(batches=[batch], baseline=Zero())
    with pytest.raises(ValueError) as error:
        removal(model, [fold, fold], {"one": [Head(0, 0)]}, scope=Scope.QUERY)
    assert str(error.value) == (
        "expected folds of different items, got coreference-0.a twice; see `mean_folds`."
    )
