"""One row a head, from tables to readings: each number by a second route."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from interp.contrast import (
    Thresholds,
    Verdict,
    by_template,
    observations,
    on_halves,
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
    items["split"] = [h for h in ("discovery", "confirmation") for _ in range(N_PAIRS)]
    items["cell"] = [f"cell {pair % 2}" for pair in range(N_PAIRS) for _ in "ab"]
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


def direct_of(items, levels, *, noise=0.02, seed=1):
    """What each head says itself, as a share of a gap of 2."""
    rng = np.random.default_rng(seed)
    tables = [
        items[["item_id"]].assign(
            layer=layer, head=head, direct=2 * level + rng.normal(0, noise, len(items))
        )
        for (layer, head), level in zip(HEADS, levels, strict=True)
    ]
    return pd.concat(tables)


TOGETHER = pd.DataFrame({"layer": [1], "head": [0], "idle_together": [1.0], "subtype": ["kind"]})


def test_verdicts_are_those_that_were_planted(tables):
    data = observations(*tables, direct_of(tables[2], [0.4, 0.0, 0.0, 0.4, 0.0]))
    table = verdicts(data, Thresholds(), seed=0, chance=0.1, evidence=TOGETHER)
    assert table["label"].tolist() == ["L0H0", "L0H1", "L1H0", "L1H1", "L2H0"]
    assert table["verdict"].tolist() == [
        Verdict.CONSISTENT, Verdict.WRONG_EDGE, Verdict.IDLE, Verdict.SILENT, Verdict.NEITHER,
    ]  # fmt: skip
    assert table["subtype"].tolist() == ["", "", "kind", "", ""]
    assert table["over_edge"][0] == pytest.approx(1, abs=0.01)


def test_idle_is_never_said_on_single_removals_alone(data, tables):
    """Not without the direct effect, not without the joint removal, not where that fails."""
    with_direct = observations(*tables, direct_of(tables[2], [0.4, 0.0, 0.0, 0.4, 0.0]))
    fails = TOGETHER.assign(idle_together=0.0)
    for observed, evidence in ((data, TOGETHER), (with_direct, None), (with_direct, fails)):
        table = verdicts(observed, Thresholds(), seed=0, chance=0.1, evidence=evidence)
        assert table["verdict"][2] == Verdict.INCONCLUSIVE
    speaks = observations(*tables, direct_of(tables[2], [0.4, 0.0, 0.1, 0.4, 0.0]))
    table = verdicts(speaks, Thresholds(), seed=0, chance=0.1, evidence=TOGETHER)
    assert table["verdict"][2] == Verdict.INCONCLUSIVE


def test_a_head_whose_cells_cancel_is_not_idle(tables):
    """A twentieth of the gap up in one cell, and down in the other: nothing on average."""
    scores, effects, items = tables
    is_head = (effects["layer"] == 1) & (effects["head"] == 0)
    cell = effects.merge(items[["item_id", "cell"]], on="item_id", how="left")["cell"].to_numpy()
    change = np.where(cell == "cell 0", 0.1, -0.1)
    cancelling = effects.assign(edited=effects["edited"].mask(is_head, effects["intact"] - change))
    data = observations(scores, cancelling, items, direct_of(items, [0.4, 0.0, 0.0, 0.4, 0.0]))
    table = verdicts(data, Thresholds(), seed=0, chance=0.1, evidence=TOGETHER)
    assert abs(table["effect_query"][2]) < 0.01
    assert table["verdict"][2] == Verdict.INCONCLUSIVE


def test_a_head_with_backups_is_redundant(tables):
    data = observations(*tables, direct_of(tables[2], [0.4, 0.0, 0.4, 0.4, 0.0]))
    evidence = pd.DataFrame(
        {"layer": [1], "head": [0], "conditional": [0.3], "conditional_p": [0.001]}
    ).assign(backups="L2H0")
    table = verdicts(data, Thresholds(), seed=0, chance=0.1, evidence=evidence)
    assert table["verdict"][2] == Verdict.REDUNDANT
    assert table["because"][2].startswith("30 % once L2H0 is removed, and by itself: 0 %")
    for unlike in ({"conditional": 0.04}, {"conditional_p": 0.2}, {"conditional": -0.3}):
        table = verdicts(data, Thresholds(), seed=0, chance=0.1, evidence=evidence.assign(**unlike))
        assert table["verdict"][2] == Verdict.INCONCLUSIVE


def test_a_head_whose_removal_helps_is_negative(tables):
    scores, effects, items = tables
    is_head = (effects["layer"] == 0) & (effects["head"] == 0) & (effects["scope"] == "query")
    change = effects["intact"] - effects["edited"]
    harmful = effects.assign(edited=effects["intact"] - change.where(~is_head, -change))
    table = verdicts(observations(scores, harmful, items), Thresholds(), seed=0, chance=0.1)
    assert table["verdict"][0] == Verdict.NEGATIVE
    assert table["because"][0].startswith("its removal helps: 40 % everywhere, −40 % at the query")


def test_each_half_has_its_own_verdict(tables):
    """The first head does nothing on the second half: its verdict does not hold."""
    scores, effects, items = tables
    halves = items.set_index("item_id")["split"]
    is_gone = (
        (effects["layer"] == 0)
        & (effects["head"] == 0)
        & (effects["item_id"].map(halves) == "confirmation")
    )
    changed = effects.assign(edited=effects["edited"].where(~is_gone, effects["intact"]))
    data = observations(scores, changed, items)
    table = on_halves(data, Thresholds(), seed=0, chance=0.1)
    assert table["verdict_discovery"][0] == Verdict.CONSISTENT
    assert table["verdict_confirmation"][0] == Verdict.INCONCLUSIVE
    assert table["effect_query_confirmation"][0] == 0
    assert table["held"].tolist() == [False, True, True, True, True]
    whole = observations(scores, changed, items.assign(split=""))
    with pytest.raises(ValueError, match="expected items in two halves, discovery and confirmat"):
        on_halves(whole, Thresholds(), seed=0, chance=0.1)


def test_the_pairs_that_would_decide_are_those_of_a_t_test(tables):
    """A noisy effect of a tenth: the sample at which a normal test of five heads has 80 % power."""
    scores, effects, items = tables
    rng = np.random.default_rng(3)
    is_head = (effects["layer"] == 1) & (effects["head"] == 0) & (effects["scope"] == "query")
    of_pair = dict(zip(items["pair_id"].unique(), rng.normal(0, 1, N_PAIRS), strict=True))
    pair = effects["item_id"].str.partition(".")[0].map(of_pair)
    spread = pair - pair[is_head].mean()
    noisy = effects.assign(edited=effects["edited"].mask(is_head, effects["intact"] - 0.2 - spread))
    table = verdicts(observations(scores, noisy, items), Thresholds(), seed=0, chance=0.1)
    assert table["verdict"][2] == Verdict.INCONCLUSIVE
    values = 0.2 + np.array(list(of_pair.values())) - np.mean(list(of_pair.values()))
    z = stats.norm.ppf(1 - 0.05 / 10) + stats.norm.ppf(0.8)
    needed = (z * values.std(ddof=1) / 0.2) ** 2
    assert table["n_pairs_to_decide"][2] == pytest.approx(needed, rel=0.02)
    assert f"about {table['n_pairs_to_decide'][2]:.0f} pairs would decide" in table["because"][2]


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
    table = verdicts(data, Thresholds(attends=0.65), seed=0, chance=0.1)
    assert not table["attends"].any()
    assert verdicts(data, Thresholds(), seed=0, chance=0.4)["attends"].sum() == 3


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
    assert verdicts(data, Thresholds(), seed=0, chance=0.1)["verdict"][0] == Verdict.PARTLY


def test_an_effect_large_enough_but_not_significant_is_inconclusive(tables):
    """One pair carries all of it: the mean is large, and so is its error."""
    scores, effects, items = tables
    is_head = (effects["layer"] == 1) & (effects["head"] == 0)
    change = np.where(effects["item_id"].str.startswith("p0."), 6.0, 0.0)
    wild = effects.assign(edited=effects["edited"].mask(is_head, effects["intact"] - change))
    table = verdicts(observations(scores, wild, items), Thresholds(), seed=0, chance=0.1)
    assert table["verdict"][2] == Verdict.INCONCLUSIVE
    assert table["because"][2].startswith("an effect that is not significant: 1")


def test_a_small_effect_is_not_called_none(tables):
    """Three hundredths of the gap, on every item: below what matters, and not nothing."""
    scores, effects, items = tables
    is_head = (effects["layer"] == 1) & (effects["head"] == 0)
    slight = effects.assign(edited=effects["edited"].mask(is_head, effects["intact"] - 0.06))
    data = observations(scores, slight, items, direct_of(items, [0.4, 0.0, 0.0, 0.4, 0.0]))
    table = verdicts(data, Thresholds(), seed=0, chance=0.1, evidence=TOGETHER)
    assert table["verdict"][2] == Verdict.INCONCLUSIVE
    assert table["because"][2].startswith("an effect between nothing (2 %) and what counts (5 %)")
    assert np.isnan(table["n_pairs_to_decide"][2])


def test_without_an_edge_the_effect_is_not_located(tables):
    scores, effects, items = tables
    data = observations(scores, effects.query("scope != 'edge'"), items)
    table = verdicts(data, Thresholds(), seed=0, chance=0.1)
    assert table["verdict"].tolist() == [
        *[Verdict.INCONCLUSIVE] * 3, Verdict.SILENT, Verdict.NEITHER,
    ]  # fmt: skip
    assert table["because"][0].startswith("how much comes over the edge is not settled")


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
    causal, neither = Verdict.CAUSAL, Verdict.NEITHER
    assert table["verdict"].tolist() == [causal, causal, neither, causal, neither]
    assert table["raw"].isna().all()
    assert table["effect_edge"].isna().all()
    assert selectivity(table) is None
