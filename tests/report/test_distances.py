"""Behaviour against distance, read back from the drawing."""

import numpy as np
import pandas as pd

from interp.report.distances import contrast_curves

ROWS = pd.DataFrame(
    [
        ("long_range/recall", "fixed_source", 8.0, 2.0, 1.5, 2.5, True),
        ("long_range/recall", "fixed_source", 64.0, 0.3, 0.1, 0.5, False),
        ("long_range/recall", "fixed_query", 8.0, 1.0, 0.5, 1.5, True),
        ("agreement/simple", "", float("nan"), 5.0, 4.0, 6.0, True),
    ],
    columns=["kind", "mode", "distance", "contrast", "contrast_low", "contrast_high", "passes"],
)


def test_a_panel_a_mode_and_a_curve_a_kind():
    source, query = contrast_curves(ROWS).axes
    assert source.get_title() == "the source in place"
    assert query.get_title() == "the query in place"
    curve = next(line for line in source.lines if line.get_label() == "recall")
    np.testing.assert_array_equal(curve.get_xydata(), [(8, 2.0), (64, 0.3)])
    assert [label.get_text() for label in source.get_xticklabels()] == ["8", "64"]
    assert source.get_ylim() == query.get_ylim(), "the panels can be compared"


def test_what_does_not_pass_is_an_open_mark():
    source, _ = contrast_curves(ROWS).axes
    marks = {line.get_markerfacecolor(): line for line in source.lines if line.get_marker() == "o"}
    np.testing.assert_array_equal(marks["white"].get_xydata(), [(64, 0.3)])
