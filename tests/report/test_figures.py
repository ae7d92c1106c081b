"""Figures show what the tables say: read back from the drawing, compared with plain pandas."""

import itertools

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

from interp.report import canvas, figures
from interp.report.labels import place_labels
from interp.report.tidy import (
    colour_limit,
    finest_tier,
    finite_rows,
    grid,
    largest_effects,
    ranked,
    telling_pair,
    three_tiers,
)

from .example import behaviour, example_run

THRESHOLDS = {"attends": 0.05, "matters": 0.05}


@pytest.fixture(scope="module")
def verdicts():
    return example_run(12, 11).tables["verdicts"]


def tick_labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def test_heatmaps_show_every_head_in_its_place(verdicts):
    shuffled = verdicts.sample(frac=1, random_state=0)
    left, right, *_ = figures.heatmaps(shuffled, "cas", thresholds=THRESHOLDS, pair=None).axes
    for axes, column in ((left, "cas"), (right, "effect_query")):
        drawn = np.asarray(axes.collections[0].get_array()).reshape(12, 11)
        for row in verdicts.itertuples():
            assert drawn[row.layer, row.head] == getattr(row, column)
    assert tick_labels(left.xaxis) == [str(head) for head in range(11)]  # 2 before 10


def test_heatmap_colours_are_centred_on_zero_and_clipped(verdicts):
    left, right, *_ = figures.heatmaps(verdicts, "cas", thresholds=THRESHOLDS, pair=None).axes
    for axes, column in ((left, "cas"), (right, "effect_query")):
        low, high = axes.collections[0].get_clim()
        assert low == -high
        assert high == pytest.approx(max(0.05, np.percentile(np.abs(verdicts[column]), 99)))
        assert axes.collections[0].cmap(0.5)[:3] == pytest.approx((1, 1, 1), abs=0.05)


def test_cells_without_a_finite_value_are_masked_over_hatching(verdicts):
    broken = verdicts.copy()
    broken.loc[[3, 17], "cas"] = [np.inf, np.nan]
    left, right, *_ = figures.heatmaps(broken, "cas", thresholds=THRESHOLDS, pair=None).axes
    assert np.ma.getmaskarray(left.collections[0].get_array()).ravel().nonzero()[0].tolist() == [
        3,
        17,
    ]
    assert not np.ma.getmaskarray(right.collections[0].get_array()).any()
    assert left.patch.get_hatch()
    assert np.isfinite(left.collections[0].get_clim()).all()


def test_without_a_measure_of_attention_the_effect_is_drawn_alone(verdicts):
    figure = figures.heatmaps(verdicts, None, thresholds=THRESHOLDS, pair=None)
    axes, _colour_bar = figure.axes
    assert axes.get_title() == "Effect at the query"
    drawn = np.asarray(axes.collections[0].get_array()).ravel()
    np.testing.assert_array_equal(drawn, verdicts["effect_query"])


def test_the_pair_is_outlined_on_both_grids(verdicts):
    pair = telling_pair(verdicts, "cas")
    for axes in figures.heatmaps(verdicts, "cas", thresholds=THRESHOLDS, pair=pair).axes[:2]:
        corners = [patch.get_xy() for patch in axes.patches]
        assert corners == list(zip(pair["head"], pair["layer"], strict=True))


def test_a_dot_marks_each_effect_that_is_significant_and_counts(verdicts):
    attention, effect = figures.heatmaps(verdicts, "cas", thresholds=THRESHOLDS, pair=None).axes[:2]
    matter = verdicts[verdicts["matters_query"]]
    assert len(matter) > 0
    dots = effect.collections[-1].get_offsets() - 0.5
    assert sorted(map(tuple, dots)) == sorted(zip(matter["head"], matter["layer"], strict=True))
    assert len(attention.collections) == 1


@pytest.mark.parametrize(("n_layers", "step"), [(6, 1), (30, 2), (80, 5)])
def test_ticks_are_thinned_on_deep_models(n_layers, step):
    table = example_run(n_layers, 12).tables["verdicts"]
    axes = figures.heatmaps(table, "cas", thresholds=THRESHOLDS, pair=None).axes[0]
    assert tick_labels(axes.yaxis) == [str(layer) for layer in range(0, n_layers, step)]


def test_a_head_that_stands_twice_is_refused(verdicts):
    with pytest.raises(ValueError, match="duplicate"):
        grid(pd.concat([verdicts, verdicts.head(1)]), "cas")


def test_the_scatter_shows_each_finite_head_once(verdicts):
    broken = verdicts.copy()
    broken.loc[5, "effect_edge"] = np.inf
    axes = figures.attention_against_effect(broken, "cas", "edge", matters=0.05).axes[0]
    drawn = np.asarray(axes.collections[-1].get_offsets())
    kept = broken.drop(index=5)
    np.testing.assert_array_equal(
        drawn[np.lexsort(drawn.T)],
        kept[["cas", "effect_edge"]].sort_values(["effect_edge", "cas"]).to_numpy(),
    )


def test_scatter_intervals_are_those_of_the_table(verdicts):
    axes = figures.attention_against_effect(verdicts, "cas", "edge", matters=0.05).axes[0]
    across, upright = (
        {tuple(map(tuple, segment)) for segment in lines.get_segments()}
        for lines in axes.collections[:2]
    )
    assert across == {
        ((row.cas_low, row.effect_edge), (row.cas_high, row.effect_edge))
        for row in verdicts.itertuples()
    }
    assert upright == {
        ((row.cas, row.effect_edge_low), (row.cas, row.effect_edge_high))
        for row in verdicts.itertuples()
    }


@pytest.mark.parametrize(
    ("measure", "tier", "names"),
    [
        ("margin", "edge", ["attention: margin", "effect on the edge (share of the gap)"]),
        ("raw", "query", ["attention: raw", "effect at the query (share of the gap)"]),
    ],
)
def test_the_scatter_shows_the_measure_and_the_tier_that_it_is_told(verdicts, measure, tier, names):
    axes = figures.attention_against_effect(verdicts, measure, tier, matters=0.05).axes[0]
    assert [axes.get_xlabel(), axes.get_ylabel()] == names
    drawn = np.asarray(axes.collections[-1].get_offsets())
    expected = verdicts[[measure, f"effect_{tier}"]].to_numpy()
    np.testing.assert_array_equal(drawn[np.lexsort(drawn.T)], expected[np.lexsort(expected.T)])
    ends = {tuple(segment[:, 0]) for segment in axes.collections[0].get_segments()}
    assert ends == set(zip(verdicts[f"{measure}_low"], verdicts[f"{measure}_high"], strict=True))


def test_the_scatter_names_the_extremes(verdicts):
    axes = figures.attention_against_effect(verdicts, "cas", "edge", matters=0.05).axes[0]
    by_edge = verdicts.loc[verdicts["effect_edge"].abs().nlargest(4).index, "label"]
    by_cas = verdicts.nlargest(4, "cas")["label"]
    assert {text.get_text() for text in axes.texts} == {*by_edge, *by_cas}


def test_labels_cover_neither_each_other_nor_the_rim():
    """Twelve labels on four clumps of three nearly equal points."""
    figure, (axes,) = canvas.panels(1, height=4.0)
    x = np.repeat([0.0, 0.3, 0.6, 1.0], 3) + np.tile([0, 0.002, 0.004], 4)
    points = pd.DataFrame({"x": x, "y": x**2, "label": [f"L{n}H10" for n in range(12)]})
    axes.scatter(points["x"], points["y"])
    notes = place_labels(axes, points, named=points["label"].to_list())
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw_without_rendering()
    boxes = [Text.get_window_extent(note, renderer) for note in notes]
    assert len(boxes) == 12
    assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))
    assert all(axes.bbox.count_contains(box.corners()) == 4 for box in boxes)


def test_tiers_show_the_largest_heads_with_their_intervals(verdicts):
    largest = largest_effects(verdicts, 10)
    columns = ["effect_everywhere", "effect_query", "effect_edge"]
    sizes = verdicts.set_index("label")[columns].abs().max(axis=1)
    assert largest["label"].to_list() == sizes.nlargest(10).index.to_list()
    axes = figures.tiers(largest).axes[0]
    assert tick_labels(axes.yaxis) == largest["label"].to_list()
    drawn = np.asarray(axes.collections[-1].get_offsets())[:, 0]
    np.testing.assert_array_equal(drawn, largest[columns].to_numpy().T.ravel())
    ends = [segment[:, 0].tolist() for segment in axes.collections[0].get_segments()]
    assert ends == [
        [low, high]
        for column in columns
        for low, high in zip(largest[f"{column}_low"], largest[f"{column}_high"], strict=True)
    ]


def test_three_tiers_has_a_row_per_head_and_tier(verdicts):
    table = three_tiers(verdicts).set_index(["label", "tier"])["value"]
    first = verdicts.iloc[0]
    assert len(table) == 3 * len(verdicts)
    assert table["L0H0", "on the edge"] == first["effect_edge"]
    assert table["L0H0", "everywhere"] == first["effect_everywhere"]


def test_a_tier_that_was_not_measured_leaves_no_trace(verdicts):
    bare = verdicts.assign(
        **{f"effect_everywhere{end}": np.nan for end in ("", "_low", "_high", "_p")}
    )
    figure = figures.tiers(largest_effects(bare, 10))
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "at the query",
        "on the edge",
    ]
    assert len(figure.axes[0].collections[-1].get_offsets()) == 20
    largest = bare[["effect_query", "effect_edge"]].abs().max(axis=1).nlargest(10).index
    assert largest_effects(bare, 10).index.to_list() == largest.to_list()


def test_the_finest_tier_is_the_edge_or_else_the_query(verdicts):
    assert finest_tier(verdicts) == "edge"
    assert finest_tier(verdicts.assign(effect_everywhere=np.nan)) == "edge"
    assert finest_tier(verdicts.assign(effect_edge=np.nan)) == "query"
    assert finest_tier(verdicts.assign(effect_edge=np.nan, effect_everywhere=np.nan)) == "query"


@pytest.mark.parametrize(
    ("measure", "rows"),
    [
        ("cas", ["raw attention", "sink-corrected", "CAS"]),
        ("margin", ["raw attention", "sink-corrected", "margin"]),
        ("raw", ["raw attention", "sink-corrected"]),
    ],
)
def test_the_pair_is_drawn_by_its_measure_and_the_tiers_measured(verdicts, measure, rows):
    pair = telling_pair(verdicts.assign(effect_everywhere=np.nan), measure)
    left, right = figures.telling_pair(pair, measure).axes
    assert tick_labels(left.yaxis) == rows
    assert tick_labels(right.yaxis) == ["at the query", "on the edge"]
    places = np.asarray(left.collections[-1].get_offsets())[:, 0]
    columns = list(dict.fromkeys(["raw", "sink_corrected", measure]))
    np.testing.assert_array_equal(np.sort(places), np.sort(pair[columns].to_numpy().ravel()))


def test_the_pair_is_a_head_without_effect_and_one_that_matters(verdicts):
    attends, matters = telling_pair(verdicts, "cas").to_dict("records")
    silent = verdicts[verdicts["verdict"] == "attends but idle"]
    on_edge = verdicts[verdicts["verdict"] == "attention-consistent"]
    assert attends["cas"] == silent["cas"].max()
    assert abs(matters["effect_edge"]) == on_edge["effect_edge"].abs().max()
    assert telling_pair(verdicts.assign(verdict="neither"), "cas") is None
    assert telling_pair(verdicts, None) is None


def test_heads_are_ranked_largest_first_with_ties_in_order():
    table = pd.DataFrame(
        {"label": ["L0H2", "L0H10", "L1H0", "L1H1"], "cas": [0.1, 0.1, -0.5, np.nan]}
    )
    assert ranked(table, "cas")["label"].to_list() == ["L0H2", "L0H10", "L1H0"]
    assert ranked(table, "cas", by_size=True)["label"].to_list() == ["L1H0", "L0H2", "L0H10"]


def test_a_colour_scale_never_ends_below_the_size_that_counts():
    noise = pd.Series([0.001, -0.002, np.nan, np.inf])
    assert colour_limit(noise, at_least=0.05) == 0.05
    assert colour_limit(pd.Series([np.nan]), at_least=0.05) == 0.05
    assert len(finite_rows(pd.DataFrame({"cas": noise}), "cas")) == 2


def test_behaviour_shows_each_template_on_its_line():
    hostile = behaviour().assign(template_id=["$x^2$", "a\nb", "</script>"])
    axes = figures.behaviour(hostile, "logit_difference").axes[0]
    assert tick_labels(axes.yaxis) == ["$x^2$", "a\\nb", "</script>"]
    np.testing.assert_array_equal(
        np.asarray(axes.collections[-1].get_offsets()), [[3.9, 0], [3.1, 1], [0.2, 2]]
    )


def test_drawing_leaves_nothing_behind(verdicts):
    style, before = dict(plt.rcParams), verdicts.copy()
    figures.heatmaps(verdicts, "cas", thresholds=THRESHOLDS, pair=telling_pair(verdicts, "cas"))
    figures.attention_against_effect(verdicts, "cas", "edge", matters=0.05)
    assert plt.get_fignums() == []
    assert dict(plt.rcParams) == style
    pd.testing.assert_frame_equal(verdicts, before)


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_the_same_table_gives_the_same_bytes(kind):
    first, again = (
        canvas.encoded(figures.behaviour(behaviour(), "logit_difference"), kind) for _ in range(2)
    )
    assert first == again
