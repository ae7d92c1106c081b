"""Match against mismatch, read from the labels of the design's cells."""

import pandas as pd

from interp.report import write_report
from interp.report.attractors import attraction, by_attractor, caption
from interp.store import Run

from .example import failing_run

METRIC = "logit_difference"
CELLS = pd.DataFrame(
    [
        ("pp1", "distractor_number=plural, match=match, source_number=plural", 3.0, 2.5, 3.5, 1.0),
        ("pp1", "distractor_number=singular, match=mismatch, source_number=plural", 1.0, 0, 2, 0.5),
        ("pp1", "distractor_number=singular, match=match, source_number=singular", 2.0, 1, 3, 0.9),
        ("simple", "source_number=plural", 4.0, 3.0, 5.0, 1.0),
    ],
    columns=[
        *("template_id", "cell", "logit_difference", "logit_difference_low"),
        *("logit_difference_high", "accuracy"),
    ],
)


def test_only_crossed_cells_are_drawn_each_at_its_value():
    table = by_attractor(CELLS, METRIC)
    assert table["row"].tolist() == ["pp1, plural", "pp1, plural", "pp1, singular"]
    (axes,) = attraction(table, METRIC).axes
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        "pp1, plural",
        "pp1, singular",
    ]
    assert sorted(axes.collections[-1].get_offsets()[:, 0]) == [1, 2, 3]


def test_another_metric_is_read_from_its_own_columns_and_named_on_the_axis():
    cells = CELLS.rename(columns=lambda name: name.replace(METRIC, "representation_margin"))
    table = by_attractor(cells, "representation_margin")
    pd.testing.assert_frame_equal(table, by_attractor(CELLS, METRIC))
    (axes,) = attraction(table, "representation_margin").axes
    assert axes.get_xlabel() == "the answer less the other (in cosine)"
    assert by_attractor(cells.iloc[:0], "representation_margin").empty


def test_the_caption_says_how_often_it_is_right():
    told = caption(by_attractor(CELLS, METRIC))
    assert told.endswith("Right: 95 % of items (match) and 50 % of items (mismatch).")


def test_a_design_without_attractors_has_no_such_figure(tmp_path):
    run = failing_run()
    assert by_attractor(run.tables["cells"], METRIC).empty
    assert by_attractor(CELLS.iloc[:0], METRIC).empty
    tables = run.tables | {"cells": CELLS.assign(n_items=8.0)}
    write_report(Run(settings=run.settings, tables=tables), tmp_path)
    assert (tmp_path / "figures" / "attraction.svg").is_file()
    assert "A mismatch to the left of its match is attraction" in (
        tmp_path / "report.html"
    ).read_text(encoding="utf-8")
