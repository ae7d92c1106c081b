"""One row a head, from tables to readings: each number by a second route."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from interp.contrast import (
    ELSEWHERE,
    MATTERS,
    NEITHER,
    NO_EFFECT,
    ON_EDGE,
    PARTLY,
    SILENT,
    SMALL,
    UNCERTAIN,
    UNLOCATED,
    UNSEEN,
    Thresholds,
    by_template,
    observations,
    selectivity,
    verdicts,
)

N_PAIRS = 24
HEADS = [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0)]
RAW = [0.6, 0.6, 0.6, 0.01, 0.01]
EFFECT = {
    "everywhere": [0.4, 0.4, 0.0, 0.4, 0.0],
    "query": [0.4, 0.4, 0.0, 0.4, 0.0],
    "edge": [0.4, 0.0, 0.0, 0.0, 0.0],
}


@pytest.fixture(scope="module")
def tables():
    """Five heads with planted attention and effects, a little noise on every item."""
    rng = np.random.default_rng(0)
    items = pd.DataFrame(
        {
            "item_id": [f"p{pair}.{side}" for pair in range(N_PAIRS) for side in "ab"],
            "pair_id": [f"p{pair}" for pair in range(N_PAIRS) for _ in "ab"],
            "template_id": ["one" if pair % 2 else "two" for pair in range(N_PAIRS) for _ in "ab"],
            "cluster": [f"c{pair}" for pair in range(N_PAIRS) for _ in "ab"],
        }
    )
    items["other_cluster"] = items["cluster"]
    items["clean"] = 1 + rng.normal(0, 0.1, len(items))
    items["corrupt"] = -1 + rng.normal(0, 0.1, len(items))
    gap = 2.0
    scores, effects = [], []
    for (layer, head), raw, number in zip(HEADS, RAW, range(5), strict=True):
        here = items[["item_id"]].assign(layer=layer, head=head)
        noise = rng.normal(0, 0.003, len(items))
        levels = {"raw": raw, "sink_mass": 0.2, "sink_corrected": raw / 0.8, "margin": raw / 2}
        for measure, level in {**levels, "cas": raw / 2}.items():
            scores.append(here.assign(measure=measure, value=level + noise, valid=True))
        for tier, planted in EFFECT.items():
            change = planted[number] * gap + rng.normal(0, 0.02, len(items))
            effects.append(
                here.assign(
                    scope=tier, intact=items["clean"], edited=items["clean"] - change, corrupt=0.0
                )
            )
    return pd.concat(scores), pd.concat(effects).sample(frac=1, random_state=0), items


@pytest.fixture(scope="module")
def data(tables):
    return observations(*tables)


def test_readings_are_those_that_were_planted(data):
    table = verdicts(data, Thresholds(), seed=0, chance=0.1)
    assert table["label"].tolist() == ["L0H0", "L0H1", "L1H0", "L1H1", "L2H0"]
    assert table["reading"].tolist() == [ON_EDGE, ELSEWHERE, NO_EFFECT, SILENT, NEITHER]


def test_effects_are_ratios_of_means_in_plain_pandas(data, tables):
    _, effects, items = tables
    table = verdicts(data, Thresholds(), seed=0, chance=0.1).set_index(["layer", "head"])
    gap = (items["clean"] - items["corrupt"]).mean()
    for (scope, layer, head), rows in effects.groupby(["scope", "layer", "head"]):
        expected = (rows["intact"] - rows["edited"]).mean() / gap
        assert table.loc[(layer, head), f"effect_{scope}"] == pytest.approx(expected)


def test_scores_are_means_in_plain_pandas(data, tables):
    scores, _, _ = tables
    table = verdicts(data, Thresholds(), seed=0, chance=0.1).set_index(["layer", "head"])
    means = scores.groupby(["measure", "layer", "head"])["value"].mean()
    for measure in ("raw", "sink_mass", "sink_corrected", "margin", "cas"):
        assert table[measure].to_numpy() == pytest.approx(means[measure].to_numpy())


def test_the_interval_of_cas_is_a_t_interval_over_pairs(data, tables):
    scores, _, items = tables
    table = verdicts(data, Thresholds(), seed=0, chance=0.1)
    cas = scores.query("measure == 'cas' and layer == 0 and head == 0").merge(items, on="item_id")
    of_pair = cas.groupby("pair_id")["value"].mean()
    low, high = stats.t.interval(
        0.95, len(of_pair) - 1, loc=of_pair.mean(), scale=stats.sem(of_pair)
    )
    assert table.loc[0, "cas_low"] == pytest.approx(low)
    assert table.loc[0, "cas_high"] == pytest.approx(high)


def test_a_high_chance_level_asks_for_more_attention(data):
    """Half of all keys being the source, .6 is little; beyond .5 nothing more is asked."""
    readings = verdicts(data, Thresholds(attends=0.65), seed=0, chance=0.1)["reading"]
    assert not readings.str.startswith("attends").any()
    readings = verdicts(data, Thresholds(), seed=0, chance=0.4)["reading"]
    assert readings.str.startswith("attends").sum() == 3


def test_by_template_splits_what_verdicts_pool(data, tables):
    _, effects, items = tables
    table = by_template(data, items)
    assert len(table) == 2 * len(HEADS)
    rows = effects.merge(items[["item_id", "template_id"]], on="item_id")
    rows = rows.query("scope == 'edge' and layer == 0 and head == 0 and template_id == 'one'")
    here = items.query("template_id == 'one'")
    expected = (rows["intact"] - rows["edited"]).mean() / (here["clean"] - here["corrupt"]).mean()
    found = table.query("template_id == 'one' and label == 'L0H0'")["effect_edge"].item()
    assert found == pytest.approx(expected)


def test_an_effect_that_comes_over_the_edge_in_part_is_said_to(tables):
    """A quarter of the effect over the edge: neither on it nor elsewhere."""
    scores, effects, items = tables
    is_first = (effects["scope"] == "edge") & (effects["layer"] == 0) & (effects["head"] == 0)
    change = (effects["intact"] - effects["edited"]).where(~is_first, 0.2)
    partly = effects.assign(edited=effects["intact"] - change)
    data = observations(scores, partly, items)
    assert verdicts(data, Thresholds(), seed=0, chance=0.1)["reading"][0] == PARTLY


def test_an_effect_large_enough_but_not_significant_is_uncertain(tables):
    """One pair carries all of it: the mean is large, and so is its error."""
    scores, effects, items = tables
    is_head = (effects["layer"] == 1) & (effects["head"] == 0)
    change = np.where(effects["item_id"].str.startswith("p0."), 6.0, 0.0)
    wild = effects.assign(edited=effects["edited"].mask(is_head, effects["intact"] - change))
    readings = verdicts(observations(scores, wild, items), Thresholds(), seed=0, chance=0.1)
    assert readings["reading"][2] == UNCERTAIN


def test_a_small_effect_is_not_called_none(tables):
    """Three hundredths of the gap, on every item: below what matters, and not nothing."""
    scores, effects, items = tables
    is_head = (effects["layer"] == 1) & (effects["head"] == 0)
    slight = effects.assign(edited=effects["edited"].mask(is_head, effects["intact"] - 0.06))
    readings = verdicts(observations(scores, slight, items), Thresholds(), seed=0, chance=0.1)
    assert readings["reading"][2] == SMALL


def test_without_an_edge_the_effect_is_not_located(tables):
    scores, effects, items = tables
    data = observations(scores, effects.query("scope != 'edge'"), items)
    readings = verdicts(data, Thresholds(), seed=0, chance=0.1)["reading"].tolist()
    assert readings == [UNLOCATED, UNLOCATED, NO_EFFECT, SILENT, NEITHER]


def test_without_a_source_nothing_attends_and_effects_stand(tables):
    """People's own pairs may name no source: everywhere and at the query are still measured."""
    scores, effects, items = tables
    unknown = scores.assign(value=scores["value"].where(scores["measure"] == "sink_mass"))
    table = verdicts(
        observations(unknown, effects.query("scope != 'edge'"), items),
        Thresholds(),
        seed=0,
        chance=float("nan"),
    )
    assert table["reading"].tolist() == [MATTERS, MATTERS, UNSEEN, MATTERS, UNSEEN]
    assert table["raw"].isna().all()
    assert table["effect_edge"].isna().all()
    assert selectivity(table) is None
