"""The detection curve: on a planted model, in SmolLM2, and what is called wrong in it."""

import pandas as pd
import pytest

from interp.grafts import (
    Parts,
    complaints,
    detection,
    grafts,
    hosts,
    in_random_order,
    moves,
    parts,
    silence,
    summary,
)
from interp.grafts.found import ACTING, bounds, found
from interp.heads import Head
from interp.tasks import build


def test_heads_to_graft_on_neither_attend_nor_matter_and_can_tell(plant):
    """Of a head that finds the antecedent and seven of small random weights, two."""
    model, batch = plant("crowd")
    moved = moves(model, [batch])
    able = hosts(model, [batch], moved, seed=0)
    assert list(able) == [Head(0, 4), Head(0, 6)]
    assert able == {head: moved.fit(head).r_squared for head in able}
    orders = {tuple(in_random_order(able, least=2, seed=seed)) for seed in range(9)}
    assert orders == {tuple(able), tuple(able)[::-1]}
    with pytest.raises(ValueError) as error:
        in_random_order(able, least=3, seed=0)
    assert str(error.value) == (
        "expected 3 heads that neither attend nor matter and whose output foretells the last "
        "residual (R² of 0.5 or more), got 2; ask for fewer."
    )


def test_a_curve_has_the_model_as_it_is_and_every_share(plant):
    model, batch = plant("crowd")
    same = Parts(fitted=[batch], heard=[batch], tested=[[batch], [batch.first(24)]])
    curve = detection(model, same, [0.05, 0.2], n_hosts=1, seed=0)
    (host,) = set(curve.loc[curve["planted"] > 0, "head"])
    assert host in {"L0H4", "L0H6"}
    assert curve["planted"].to_list() == [0.0, 0.0, 0.2, 0.05]
    as_it_is, grafted = curve[curve["planted"] == 0], curve[curve["planted"] > 0]
    assert as_it_is["effect"].abs().max() < 0.01
    assert (grafted["effect"] - grafted["planted"]).abs().max() < 0.02 * 0.2
    assert grafted["n_drawings"].to_list() == [2, 2]
    assert grafted["n_holding"].to_list() == [2, 2]
    assert as_it_is["n_drawings"].to_list() == [0, 0]
    assert set(as_it_is["verdict"]) == {"neither"}


def test_a_head_that_carries_no_graft_is_named_and_the_next_is_tried(plant, monkeypatch, capsys):
    model, batch = plant("crowd")
    same, tried = Parts(fitted=[batch], heard=[batch], tested=[[batch]]), []

    def first_fails(model, moved, heard, head, shares):
        tried.append(head)
        if len(tried) == 1:
            raise ArithmeticError(f"no loudness of {head.label} is enough.")
        return grafts(model, moved, heard, head, shares)

    monkeypatch.setattr("interp.grafts.curve.grafts", first_fails)
    curve = detection(model, same, [0.2], n_hosts=1, seed=0)
    assert set(tried) == {Head(0, 4), Head(0, 6)}
    assert set(curve.loc[curve["planted"] > 0, "head"]) == {tried[1].label}
    assert (
        f"no loudness of {tried[0].label} is enough. The next is tried." in capsys.readouterr().err
    )
    tried.clear()
    with pytest.raises(ArithmeticError, match="^1 of 2 grafts found no head that carries them"):
        detection(model, same, [0.2], n_hosts=2, seed=0)


def test_the_interval_of_one_head_alone_is_that_of_the_verdicts(plant):
    model, batch = plant("crowd")
    row = found(model, [batch], seed=0).loc["L0H0"]
    low, high = bounds(model, [batch], Head(0, 0))
    assert (low, high) == pytest.approx((row["effect_query_low"], row["effect_query_high"]))
    assert low < high


def test_in_smollm2_a_graft_is_found_at_its_size_on_other_items(smollm2):
    """A head of the last layer but one, on 32 pairs: what was not there is found at its size.

    Beside it a head that finds the subject and is .4 of the behaviour falls silent.
    """
    host = Head(28, 3)
    items = build("agreement", smollm2.tokenizer, n_pairs=96, seed=0)
    each = parts(smollm2, items, n_fitted=32, n_heard=32, n_tested=32)
    moved = moves(smollm2, each.fitted)
    assert moved.fit(host).r_squared > 0.7
    planted = grafts(smollm2, moved, each.heard, host, [0.1])[0.1]
    before, after = (bounds(model, each.tested[0], host) for model in (smollm2, planted))
    assert -0.01 < min(before) < max(before) < 0.01
    assert min(after) <= 0.1 <= max(after) < min(after) + 0.06
    few = [each.tested[0][0].first(16)]
    row = found(planted, few, heads=[host], seed=0).loc[host.label]
    assert row["effect_query_p"] < 0.05
    assert row["verdict"] == ACTING
    silenced = silence(smollm2, few, [Head(26, 0)], seed=0)
    assert silenced["agrees"].all(), silenced.T.to_string()
    assert silenced["effect_before"].item() > 0.2


def table(**columns):
    rows = {
        "head": ["L0H0", "L0H1", "L0H2", "L0H3"],
        "planted": [0.0, 0.0, 0.1, 0.1],
        "effect": [0.0, 0.01, 0.09, 0.11],
        "low": [-0.01, 0.0, 0.05, 0.08],
        "high": [0.01, 0.02, 0.13, 0.14],
        "p": [1.0, 0.04, 0.01, 0.01],
        "n_drawings": [0, 0, 5, 5],
        "n_holding": [0, 0, 5, 4],
        "verdict": ["neither", "neither", *["silent but causal"] * 2],
    }
    return pd.DataFrame(rows | columns)


SILENT = pd.DataFrame({"head": ["L1H0"], "effect": [0.0], "verdict": ["x"], "agrees": [True]})


def test_a_summary_counts_by_share():
    rows = summary(table()).to_dict("records")
    assert rows[0] == pytest.approx(
        {
            "planted": 0, "n": 2, "effect": 0.005, "half": 0.01, "n_significant": 1,
            "n_mattering": 0, "n_holding": 0, "n_drawings": 0,
        }
    )  # fmt: skip
    assert rows[1] == pytest.approx(
        {
            "planted": 0.1, "n": 2, "effect": 0.1, "half": 0.035, "n_significant": 2,
            "n_mattering": 2, "n_holding": 9, "n_drawings": 10,
        }
    )  # fmt: skip


def test_all_as_it_must_be_is_no_complaint():
    assert complaints(SILENT, summary(table())) == []


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        (
            {"verdict": ["neither", *["silent but causal"] * 3]},
            "of 2 heads with nothing planted 1 matter",
        ),
        ({"p": [1.0, 1.0, 0.2, 0.01]}, "of 2 heads with 10% planted only 1 are significant"),
        (
            {"verdict": [*["neither"] * 3, "silent but causal"]},
            "of 2 heads with 10% planted only 1 are found to matter without attending",
        ),
        (
            {"n_holding": [0, 0, 4, 2]},
            "of 2 heads with 10% planted only 6 of 10 intervals hold it",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(columns, sentence):
    assert complaints(SILENT, summary(table(**columns))) == [sentence]


def test_a_silenced_head_that_is_found_otherwise_is_wrong():
    silenced = SILENT.assign(agrees=False, effect=0.25, verdict="neither")
    assert complaints(silenced, summary(table())) == [
        "L1H0, silenced, is found otherwise: neither, effect 0.25"
    ]
