"""Plain forms of figure: what is drawn is what the table says."""

import numpy as np
import pandas as pd
import pytest

from interp.report import canvas, plots
from interp.report.claims import ClaimSection, write_claims
from interp.report.page import Plate
from interp.report.tables import Table


@pytest.fixture
def lines():
    return pd.DataFrame(
        {
            "series": ["one", "one", "two", "two"],
            "x": [16, 4, 4, 16],
            "y": [0.2, 0.1, 0.3, 0.4],
            "y_low": [0.1, 0.05, 0.2, 0.3],
            "y_high": [0.3, 0.15, 0.4, 0.5],
            "z": [1.0, 10.0, 100.0, 1000.0],
        }
    )


def curves(lines):
    return plots.curves(
        lines, x="x", ys={"first": "y", "second": "z"}, x_label="tokens", y_scale=("linear", "log")
    )


def test_a_line_goes_through_its_points_from_left_to_right(lines):
    first, second = curves(lines).axes
    drawn = {line.get_label(): line.get_xydata().tolist() for line in first.lines}
    assert drawn == {"one": [[4, 0.1], [16, 0.2]], "two": [[4, 0.3], [16, 0.4]]}
    assert len(first.collections) == 2  # a band each
    assert len(second.collections) == 0  # no interval, no band
    assert (first.get_title(), second.get_title()) == ("first", "second")
    assert [label.get_text() for label in first.get_xticklabels()] == ["4", "16"]


def test_numbers_on_a_log_axis_are_plain(lines):
    figure = curves(lines)
    figure.draw_without_rendering()
    ticks = [label.get_text() for label in figure.axes[1].get_yticklabels()]
    assert "100" in ticks
    assert not any("$" in tick for tick in ticks)


def test_a_legend_names_each_series_once_in_the_tables_order(lines):
    (legend,) = curves(lines).legends
    assert [text.get_text() for text in legend.get_texts()] == ["one", "two"]


def test_the_same_table_gives_the_same_bytes(lines):
    assert canvas.encoded(curves(lines), "svg") == canvas.encoded(curves(lines), "svg")


@pytest.fixture
def heads():
    return pd.DataFrame(
        {
            "model": ["a", "a", "b"],
            "layer": [0, 1, 0],
            "value": [0.1, 0.5, 0.3],
            "other": [1.0, 2.0, np.nan],
            "kind": ["x", "y", "x"],
            "label": ["L0H0", "L1H0", "L0H0"],
            "is_named": [False, True, False],
        },
        index=[7, 7, 8],  # an index says nothing
    )


def test_heads_stand_in_the_panel_of_their_model(heads):
    figure = plots.strips(
        heads, x="layer", y="value", hue="kind", panel="model", labels=("layer", "value"),
        lines={0.4: "much"},
    )  # fmt: skip
    offsets = [axes.collections[0].get_offsets().tolist() for axes in figure.axes]
    assert offsets == [[[0, 0.1], [1, 0.5]], [[0, 0.3]]]
    assert [text.get_text() for text in figure.axes[-1].texts] == ["much"]


def test_named_points_alone_have_their_names(heads):
    figure = plots.points(
        heads, x="value", y="other", hue="kind", panel="model", labels=("value", "other"),
        palette={"x": "#ff0000", "y": "#0000ff"},
    )  # fmt: skip
    assert [[text.get_text() for text in axes.texts] for axes in figure.axes] == [["L1H0"], []]
    assert figure.axes[0].get_ylim() == figure.axes[1].get_ylim()


def test_squares_share_their_colours_and_count_layers():
    grids = {"a": pd.DataFrame(np.eye(4)), "b": pd.DataFrame(3 * np.eye(6))}
    figure = plots.squares(grids, label="nats", ends=[2, 3])
    one, other, bar = figure.axes
    assert one.images[0].get_clim() == other.images[0].get_clim() == (0, 3)
    assert [label.get_text() for label in other.get_xticklabels()] == ["0", "1"]
    assert other.get_xticks().tolist() == [1.0, 4.0]
    assert bar.get_ylabel() == "nats"


def test_a_page_of_claims_opens_by_itself_and_escapes_what_it_shows(tmp_path, lines):
    claim = ClaimSection(
        number=3,
        name="masks",
        says="A <b>claim</b>.",
        verdict="holds within limits",
        how="How.",
        headline=("a figure", "0.50"),
        sentences=["First.", "Second."],
        plates=[Plate("curves", "Curves", curves(lines), "A caption.")],
        rule=Table(columns=["figure", "found"], rows=[["a figure", "0.50"]], n_text=1),
        tables=["one", "two"],
    )
    write_claims(
        [claim], tmp_path, title="Claims", kicker="K", opening=["O."], methods=["M."]
    )  # fmt: skip
    text = (tmp_path / "report.html").read_text()
    assert "A &lt;b&gt;claim&lt;/b&gt;." in text
    assert "<strong>Holds within limits.</strong> First." in text
    assert 'href="masks/one.csv"' in text
    assert 'src="data:image/png;base64,' in text
    assert "<script" not in text
    assert (tmp_path / "masks" / "curves.svg").is_file()


def test_a_page_without_claims_is_refused(tmp_path):
    with pytest.raises(ValueError) as error:
        write_claims([], tmp_path, title="", kicker="", opening=[], methods=[])
    assert str(error.value) == "expected at least one claim, got none; measure one first."
