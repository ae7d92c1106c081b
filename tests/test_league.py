"""Rank agreement of measures with effects: plain pandas and SciPy as second route."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from interp.contrast import Contender, Observations, league, threshold_sweep
from interp.contrast.league import left_out
from interp.heads import Head

N_LAYERS, N_HEADS, N_ITEMS = 4, 6, 24
BLOCKS = np.arange(N_LAYERS * N_HEADS) // 3
TIERS = ("everywhere", "query", "edge")


@pytest.fixture(scope="module")
def data():
    """Effects of either sign, larger in later layers; noise on every item."""
    rng = np.random.default_rng(0)
    heads = [Head(layer, head) for layer in range(N_LAYERS) for head in range(N_HEADS)]
    size = rng.normal(size=len(heads)) * np.array([1 + head.layer for head in heads])
    return Observations(
        heads=heads,
        item_ids=[f"i{number}" for number in range(N_ITEMS)],
        scores={},
        effects={tier: size + rng.normal(size=(N_ITEMS, len(heads))) for tier in TIERS},
        gap=np.full(N_ITEMS, 4.0),
        clusters=[np.repeat(np.arange(N_ITEMS // 2), 2)],
        cells=np.full(N_ITEMS, ""),
        splits=np.full(N_ITEMS, ""),
    )


def contender(name, values, group="pattern only", **floors):
    return Contender(name=name, league=group, by_tier=dict.fromkeys(TIERS, values), **floors)


@pytest.fixture(scope="module")
def contenders(data):
    rng = np.random.default_rng(1)
    size = data.effects["edge"].mean(axis=0)
    noise = rng.normal(size=(3, N_ITEMS, len(size)))
    partial = np.abs(size) + noise[1]
    partial[3, 5] = np.nan
    return [
        contender("raw", np.abs(size) + noise[0], swapped=rng.normal(size=len(size))),
        contender("sink_corrected", partial, random_init={"edge": rng.normal(size=(3, len(size)))}),
        contender("dla", size + noise[2], "metric-aware"),
    ]


@pytest.fixture(scope="module")
def table(contenders, data):
    return league(contenders, data, blocks=BLOCKS, seed=0).set_index(["measure", "tier"])


def test_it_is_scipys_correlation_of_the_means(table, contenders, data):
    """Attention with the size of the effect, what knows the metric with the effect as it is."""
    for each in contenders:
        defined = ~np.isnan(each.by_tier["edge"]).any(axis=0)
        for tier in TIERS:
            effect = pd.DataFrame(data.effects[tier]).mean()
            target = (effect if each.name == "dla" else effect.abs())[defined]
            means = pd.DataFrame(each.by_tier[tier]).mean()[defined]
            row = table.loc[(each.name, tier)]
            assert row["spearman"] == pytest.approx(stats.spearmanr(means, target).statistic)
            assert row["kendall"] == pytest.approx(stats.kendalltau(means, target).statistic)
            assert row["spearman_low"] < row["spearman"] < row["spearman_high"]
            assert row["n_heads"] == defined.sum()


def test_within_layers_it_is_what_pandas_leaves_when_layer_means_are_taken_off(
    table, contenders, data
):
    layers = [head.layer for head in data.heads]
    ranks = pd.DataFrame(
        {
            "raw": contenders[0].by_tier["query"].mean(axis=0),
            "effect": np.abs(data.effects["query"].mean(axis=0)),
        }
    ).rank()
    within = ranks - ranks.groupby(layers).transform("mean")
    assert table.loc[("raw", "query"), "partial"] == pytest.approx(
        within["raw"].corr(within["effect"])
    )


def test_floors_are_other_means_against_the_same_effects(table, contenders, data):
    target = np.abs(data.effects["edge"].mean(axis=0))
    expected = stats.spearmanr(contenders[0].swapped, target).statistic
    assert table.loc[("raw", "edge"), "label_swap"] == pytest.approx(expected)
    defined = contenders[1].defined("edge")
    each = [
        stats.spearmanr(seed[defined], target[defined]).statistic
        for seed in contenders[1].random_init["edge"]
    ]
    assert table.loc[("sink_corrected", "edge"), "random_init"] == pytest.approx(np.mean(each))
    assert np.isnan(table.loc[("dla", "edge"), "label_swap"])


def test_the_order_is_that_of_the_measures_within_a_tier(contenders, data):
    table = league(contenders, data, blocks=BLOCKS, seed=0)
    assert table["tier"].tolist() == [tier for tier in TIERS for _ in range(3)]
    assert table["measure"].tolist() == ["raw", "sink_corrected", "dla"] * 3


def test_the_ceiling_is_of_both_sides_and_a_correlation_stays_about_below(table):
    assert table["ceiling"].between(0.3, 1).all()
    assert np.allclose(table["of_ceiling"], table["spearman"] / table["ceiling"])
    assert (table["of_ceiling"] < 1.2).all()


def test_what_ranks_no_heads_is_left_out_with_a_reason(data):
    nowhere = np.full((N_ITEMS, len(data.heads)), np.nan)
    same = np.full((N_ITEMS, len(data.heads)), 0.25)
    given = [contender("cas", nowhere), contender("norm", same)]
    assert league(given, data, blocks=BLOCKS, seed=0).empty
    assert left_out(given, ["edge"]).to_numpy().tolist() == [
        ["cas", "edge", "for no head is it defined on every item"],
        ["norm", "edge", "all heads have the same"],
    ]


def test_counts_at_other_thresholds_by_hand():
    """Four heads: attends and matters, attends with little, with an uncertain effect, silent."""
    verdicts = pd.DataFrame(
        {
            "raw": [0.6, 0.15, 0.3, 0.01],
            "cas_low": [0.5, 0.1, 0.2, -0.1],
            "effect_everywhere": [0.4, 0.03, 0.08, 0.2],
            "effect_query": [0.4, 0.01, 0.06, 0.0],
            "effect_edge": [float("nan")] * 4,
            "effect_everywhere_p": [0.001, 0.001, 0.4, 0.001],
            "effect_query_p": [0.001, 0.9, 0.5, 0.9],
            "effect_edge_p": [float("nan")] * 4,
        }
    )
    table = threshold_sweep(verdicts, "cas", alpha=0.05, chance=0.05)
    by = table.set_index(["attends", "matters"])
    assert by.loc[(0.02, 0.02)].tolist() == [3, 3, 2, 0]
    assert by.loc[(0.05, 0.05)].tolist() == [3, 2, 1, 1]
    assert by.loc[(0.2, 0.1)].tolist() == [2, 2, 1, 1]
    assert len(table) == 12
    crowded = threshold_sweep(verdicts, "cas", alpha=0.05, chance=0.2)
    assert (crowded["n_attend"] == 1).all()
