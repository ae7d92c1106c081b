"""The leagues on models whose heads are known: what attends and does nothing captures nothing."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from interp.behaviour import item_table
from interp.contrast import observations
from interp.effects import LOGIT_DIFFERENCE, Scope, sweep
from interp.heads import Head
from interp.leagues import leagues
from interp.leagues.halves import halves, some_pairs, too_few
from interp.leagues.values import (
    OF_HEADS,
    blocks,
    catalogue_values,
    few_at_once,
    intervention_values,
)
from interp.measures.catalogue import scores
from interp.measures.relations import relation_scores
from interp.models import load
from interp.models.record import record
from interp.planted import build
from interp.report.spelling import MEASURES

K_MAX = 3


def on_planted(name, **changes):
    """A planted model's leagues, each pair a cluster by itself."""
    model, planted = load(f"planted/{name}"), build(name)
    items = [replace(item, clusters=(item.pair_id,), **changes) for item in planted.items]
    batches = model.encode(items)
    table = item_table(model, batches, LOGIT_DIFFERENCE)
    relation = pd.concat([relation_scores(record(model.plain, batch)) for batch in batches])
    data = observations(relation, sweep(model, batches), table)
    return leagues(model, batches, data, metric=LOGIT_DIFFERENCE, seed=0), data


@pytest.fixture(scope="module")
def decoys():
    return on_planted("decoys")[0]


def test_decoys_lower_what_raw_attention_captures(decoys):
    """Five heads attend alike, one says it: raw captures all of it from its place on."""
    curves = decoys.tables["captured"].query("tier == 'query'").set_index(["measure", "k"])
    areas = decoys.tables["league"].query("tier == 'query'").set_index("measure")["area"]
    assert areas["dla"] == pytest.approx(1, abs=1e-3)
    assert areas["pvw"] == pytest.approx(1, abs=1e-3)
    assert areas["direct_effect"] == pytest.approx(1, abs=1e-3)
    # the head that shouts junk is the longest of all, the one that matters the second or third
    assert curves.loc[("norm", 1), "share"] == pytest.approx(0, abs=1e-3)
    assert areas["norm"] < 0.6
    of_raw = curves.loc["raw", "share"].to_numpy()
    assert set(np.round(of_raw)) <= {0, 1}
    assert of_raw == pytest.approx(np.round(of_raw), abs=1e-3)


def test_the_causal_order_captures_all_of_itself(decoys):
    curves = decoys.tables["captured"]
    causal = curves[curves["measure"] == "causal"]
    assert causal[["share", "share_low", "share_high"]].to_numpy() == pytest.approx(1)
    assert sorted(causal["tier"].unique()) == ["edge", "everywhere", "query"]
    assert causal["k"].max() == K_MAX  # half of the six heads
    assert causal["effect"].to_numpy() == pytest.approx(2, abs=1e-3)


def test_every_measure_is_in_a_league_or_left_out_with_a_reason(decoys):
    names = {measure.name for measure in OF_HEADS} | {"attribution", "direct_effect"}
    there, out = decoys.tables["league"], decoys.tables["left_out"]
    assert names == set(there["measure"]) | (set(out["measure"]) & names)
    assert names <= set(MEASURES)  # each has a name on the page
    reasons = out.set_index("measure")["reason"]
    assert reasons["margin"] == "on these pairs its mean is the CAS by construction"
    assert reasons["value_zeroing"] == "it is of a layer, not of a head"
    assert there.groupby("measure")["league"].first()[["raw", "norm", "attribution"]].tolist() == [
        "pattern only",
        "value-aware",
        "metric-aware",
    ]


def test_where_heads_only_look_alike_raw_attention_captures_less_than_cas():
    """Two heads attend to a place or a gender and say half of the name there, whoever is asked."""
    found, data = on_planted("lookalikes")
    areas = found.tables["league"].query("tier == 'edge'").set_index("measure")
    causal = data.heads[int(data.effects["edge"].mean(axis=0).argmax())]
    assert causal == Head(0, 0)
    assert areas.loc["cas", "area"] >= areas.loc["raw", "area"] - 1e-6
    assert areas.loc["attribution", "area"] == pytest.approx(1, abs=0.02)


def test_with_too_few_clusters_nothing_is_held_out_and_it_is_said():
    model, planted = load("planted/decoys"), build("decoys")
    batches = model.encode(planted.items)
    table = item_table(model, batches, LOGIT_DIFFERENCE)
    relation = pd.concat([relation_scores(record(model.plain, batch)) for batch in batches])
    data = observations(relation, sweep(model, batches, scopes=["query"]), table)
    found = leagues(model, batches, data, metric=LOGIT_DIFFERENCE, seed=0)
    assert "captured" not in found.tables
    assert "area" not in found.tables["league"]
    assert found.how["halves"] == (
        "Nothing is held out: a half of the items would have 4 lexical frames, and fewer than 8 "
        "say too little of others."
    )


def test_values_are_those_of_the_measures_whatever_is_computed_together(tiny, items, monkeypatch):
    monkeypatch.setattr("interp.leagues.values.TOKENS_AT_ONCE", 24)
    batches = tiny.encode(items)
    assert [len(few) for few in few_at_once(batches)] == [4, 4, 4, 4]
    found = catalogue_values(tiny, batches)
    expected = pd.concat([scores(record(tiny.plain, batch)).table for batch in batches])
    for measure in OF_HEADS:
        if measure.name in found.reasons:
            continue
        rows = expected[expected["measure"] == measure.name]
        grid = rows.pivot(index="item_id", columns=["layer", "head"], values="value")
        np.testing.assert_allclose(
            found.arrays[measure.name, ""],
            grid.loc[found.item_ids].sort_index(axis=1).to_numpy(),
            rtol=1e-4,
            atol=1e-5,
        )


def test_where_nothing_follows_a_head_attribution_and_direct_effect_are_the_effect():
    """One layer and norms that stand still: the logits are linear in what heads write."""
    model, planted = load("planted/decoys"), build("decoys")
    batches = model.encode(planted.items)
    found = intervention_values(model, batches, [Scope.QUERY, Scope.EDGE], LOGIT_DIFFERENCE)
    effects = sweep(model, batches, scopes=["query", "edge"])
    for tier in ("query", "edge"):
        rows = effects[effects["scope"] == tier]
        grid = rows.assign(effect=rows["intact"] - rows["edited"]).pivot(
            index="item_id", columns=["layer", "head"], values="effect"
        )
        exact = grid.loc[found.item_ids].sort_index(axis=1).to_numpy()
        for name in ("attribution", "direct_effect"):
            np.testing.assert_allclose(found.of(name, tier), exact, atol=1e-3)


def test_heads_are_exchangeable_within_a_layer_and_with_those_that_share_their_keys(tiny, items):
    batch = tiny.encode(items)[0]
    assert blocks(tiny, batch).tolist() == [head // 2 for head in range(16)]
    planted = load("planted/induction")
    (batch,) = planted.encode(build("induction").items)
    layers = [head.layer for head in planted.heads]
    assert blocks(planted, batch).tolist() == layers


def test_halves_are_those_of_the_design(items):
    named = [
        replace(item, split="discovery" if number < 10 else "confirmation")
        for number, item in enumerate(items)
    ]
    clusters = [np.arange(len(items)) // 2]
    found = halves(named, clusters, seed=0)
    assert found.discovery.tolist() == [True] * 10 + [False] * 6
    assert found.how == (
        "Heads are ordered on the discovery half of the items and removed on the confirmation "
        "half, which has other wordings and other words."
    )


def test_halves_by_cluster_share_no_frame_and_no_pair(items):
    first = np.array([item.clusters[0] for item in items])
    second = np.array([item.clusters[1] for item in items])
    for seed in range(5):
        found = halves(items, [first, second], seed=seed)
        assert not set(first[found.discovery]) & set(first[found.held_out])
        assert found.how.endswith(
            "wordings stand in both, and so do the frames of the second slot."
        )
    assert halves(items, [first], seed=0).how.endswith("wordings stand in both.")
    wide = [np.repeat(np.arange(16), 2)]
    many = [items[0]] * 32
    assert too_few(halves(many, wide, seed=0), wide) == ""


def test_some_pairs_are_whole_and_of_the_first_kind_first(items):
    pairs = np.array([item.pair_id for item in items])
    first = np.isin(pairs, ["p1", "p2", "qfarmer"])
    for seed in range(5):
        four = some_pairs(items, 4, first=first, seed=seed)
        assert four[first].all()
        assert len(set(pairs[four])) == four.sum() // 2 == 4
        two = some_pairs(items, 2, first=first, seed=seed)
        assert (first | ~two).all()
