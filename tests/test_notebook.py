"""The worked example for notebooks runs as it stands, cell by cell."""

import ast
import json
from pathlib import Path

import matplotlib.axes
import pandas as pd
import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def notebook():
    """The names that it leaves, and what the last line of each cell shows."""
    cells = json.loads((ROOT / "analyses" / "a_run_in_a_notebook.ipynb").read_text())["cells"]
    names: dict = {}
    shown = []
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        for cell in cells:
            if cell["cell_type"] == "code":
                *before, last = ast.parse("".join(cell["source"])).body
                exec(compile(ast.Module(before, []), "notebook", "exec"), names)
                assert isinstance(last, ast.Expr), "a cell ends with what it shows"
                shown.append(eval(compile(ast.Expression(last.value), "notebook", "eval"), names))
    return names, shown


def test_tables_are_dataframes_and_figures_have_axes(notebook):
    names, shown = notebook
    assert "verdicts" in shown[0]
    assert isinstance(shown[1], pd.DataFrame)
    assert isinstance(names["axes"], matplotlib.axes.Axes)


def test_it_shows_what_it_says(notebook):
    _, shown = notebook
    leading, looks = shown[1:3]
    assert leading["effect_edge"].is_monotonic_decreasing
    assert len(looks) > 0
    assert (looks["effect_query"].abs() < 0.02).all()


def test_what_is_drawn_shows_itself_in_a_cell(notebook):
    _, shown = notebook
    assert shown[3]._repr_png_().startswith(b"\x89PNG")
    assert shown[4]._repr_html_().startswith("<iframe")
