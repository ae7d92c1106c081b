"""The leagues drawn and spoken of: read back from the drawing, and sentences whole."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from interp.report import league_figures, league_tables, league_words
from interp.report.spelling import in_words, points


def tick_labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def rows(*values, tier="query"):
    """Shares with bounds, and differences from raw attention with theirs."""
    columns = ["measure", "k", "share", "share_low", "share_high"]
    columns += ["over_raw", "over_raw_low", "over_raw_high"]
    return pd.DataFrame(values, columns=columns).assign(tier=tier)


TEN = rows(
    ("raw", 5, 0.5, 0.4, 0.6, 0, 0, 0),
    ("raw", 10, 0.61, 0.52, 0.70, 0, 0, 0),
    ("raw", 20, 0.7, 0.6, 0.8, 0, 0, 0),
    ("cas", 10, 0.78, 0.7, 0.86, 0.17, 0.08, 0.26),
    ("norm", 10, 0.5, 0.4, 0.6, -0.11, -0.2, -0.02),
    ("margin", 10, 0.64, 0.5, 0.78, 0.03, -0.06, 0.12),
    ("random", 10, 0.04, -0.02, 0.2, np.nan, np.nan, np.nan),
)


@pytest.mark.parametrize(
    ("measure", "sentence"),
    [
        (
            "raw",
            "On held-out pairs of agreement, the ten heads that attend most remove 61 % (95 % "
            "interval 52 % to 70 %) of what the ten most effective remove at the query.",
        ),
        (
            "cas",
            "On held-out pairs of agreement, the ten heads that stand highest by CAS remove 78 % "
            "(95 % interval 70 % to 86 %) of what the ten most effective remove at the query, 17 "
            "points (95 % interval 8 to 26) more than those that attend most.",
        ),
        (
            "norm",
            "On held-out pairs of agreement, the ten heads that stand highest by norm of what "
            "arrives remove 50 % (95 % interval 40 % to 60 %) of what the ten most effective "
            "remove at the query, 11 points (95 % interval 2 to 20) less than those that attend "
            "most.",
        ),
        (
            "margin",
            "On held-out pairs of agreement, the ten heads that stand highest by margin over the "
            "distractor remove 64 % (95 % interval 50 % to 78 %) of what the ten most effective "
            "remove at the query, not certainly more or less than those that attend most "
            "(difference 3 points, 95 % interval −6 to 12).",
        ),
    ],
)
def test_a_sentence_for_each_row(measure, sentence):
    assert league_words.share_of(TEN, measure, "query", "agreement") == sentence


def test_of_one_head_the_sentence_is_in_the_singular():
    one = rows(
        ("raw", 1, 0.5, 0.4, 0.6, 0, 0, 0), ("cas", 1, 0.9, 0.8, 1.0, 0.4, 0.2, 0.6), tier="edge"
    )
    assert league_words.share_of(one, "cas", "edge", "own") == (
        "On held-out pairs of own, the head that stands highest by CAS removes 90 % (95 % interval "
        "80 % to 100 %) of what the most effective head removes on the edge, 40 points (95 % "
        "interval 20 to 60) more than the one that attends most."
    )


def test_the_headlines_are_of_raw_attention_and_the_best_of_each_league():
    league = pd.DataFrame(
        [
            ("raw", "pattern only", 0.6),
            ("cas", "pattern only", 0.8),
            ("margin", "pattern only", 0.7),
            ("norm", "value-aware", 0.4),
        ],
        columns=["measure", "league", "area"],
    ).assign(tier="query")
    found = league_words.headlines(TEN, league, "agreement")
    assert found == [
        *(
            league_words.share_of(TEN, name, "query", "agreement")
            for name in ("raw", "cas", "norm")
        ),
        "Random heads of the same layers remove 4 % (95 % of draws: −2 % to 20 %).",
    ]
    assert league_words.headlines(pd.DataFrame(), league, "agreement") == []


def test_how_it_was_counted_is_said(run):
    assert league_words.how(run.settings["leagues"]) == [
        "Heads are ordered on the discovery half of the items and removed on the confirmation "
        "half, which has other wordings and other words.",
        "Measures were taken on 64 pairs, and of those held out sets of heads were removed on 32 "
        "everywhere, 64 at the query and 63 on the edge; floors rest on 16.",
    ]
    too_few = {"halves": "Nothing is held out.", "n_pairs_scored": 8, "n_pairs_floor": 8}
    assert league_words.how(too_few) == ["Nothing is held out."]


def test_reasons_are_said_once_for_all_measures_that_share_them():
    table = pd.DataFrame(
        [("rollout", "", "of a layer"), ("mixing", "", "of a layer"), ("cas", "edge", "x.")],
        columns=["measure", "tier", "reason"],
    )
    assert league_words.reasons(table) == [
        "Left out: rollout and mixing: of a layer.",
        "Left out: CAS: x.",
    ]


def test_the_league_has_the_best_measure_on_top(run):
    axes = league_figures.league(run.tables["league"]).axes[0]
    assert tick_labels(axes.yaxis) == [
        "attribution patching",
        "CAS",
        "norm of what arrives",
        "margin over the distractor",
        "raw attention",
        "sink-corrected attention",
    ]


def test_the_curves_show_raw_attention_and_two_of_each_league_and_the_band(run):
    curves, league = run.tables["captured"], run.tables["league"]
    assert league_figures.drawn(league) == ["raw", "cas", "margin", "norm", "attribution"]
    figure = league_figures.captured(curves, league)
    assert [axes.get_title() for axes in figure.axes] == [
        "everywhere",
        "at the query",
        "on the edge",
    ]
    of = curves.set_index(["measure", "tier"]).sort_index()
    for axes, tier in zip(figure.axes, ("everywhere", "query", "edge"), strict=True):
        drawn = {tuple(np.round(line.get_ydata(), 6)) for line in axes.lines}
        for measure in ("raw", "cas", "margin", "norm", "attribution"):
            share = of.loc[(measure, tier), "share"]
            assert tuple(np.round(share, 6)) in drawn
        band = axes.collections[0].get_paths()[0].get_extents()
        at_random = of.loc[("random", tier)]
        assert band.y0 == pytest.approx(at_random["share_low"].min())
        assert band.y1 == pytest.approx(at_random["share_high"].max())
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "random heads of the same layers",
        "raw attention",
        "CAS",
        "margin over the distractor",
        "norm of what arrives",
        "attribution patching",
    ]


def test_tables_stand_by_league_the_finest_tier_and_the_most_captured_first(run):
    found = league_tables.leagues(run.tables["league"])
    assert list(found) == ["pattern only", "value-aware", "metric-aware"]
    pattern = found["pattern only"]
    assert [row[:2] for row in pattern.rows[:4]] == [
        ["on the edge", "CAS"],
        ["on the edge", "margin over the distractor"],
        ["on the edge", "raw attention"],
        ["on the edge", "sink-corrected attention"],
    ]
    assert len(pattern.rows) == 12
    assert {len(row) for table in found.values() for row in table.rows} == {len(pattern.columns)}
    without = league_tables.leagues(run.tables["league"].drop(columns=["area", "area_over_raw"]))
    assert "captured (%)" not in without["pattern only"].columns
    assert without["pattern only"].rows[0][1] == "CAS"


def test_drawing_leaves_nothing_behind(run):
    before = run.tables["captured"].copy(), run.tables["league"].copy()
    league_figures.captured(run.tables["captured"], run.tables["league"])
    league_figures.league(run.tables["league"])
    assert plt.get_fignums() == []
    pd.testing.assert_frame_equal(run.tables["captured"], before[0])
    pd.testing.assert_frame_equal(run.tables["league"], before[1])


def test_numbers_in_sentences():
    assert [in_words(n) for n in (1, 10, 20, 21)] == ["one", "ten", "twenty", "21"]
    assert points(-0.08) == "−8"
