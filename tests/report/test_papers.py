"""What a paper takes in: single figures, and the table of verdicts."""

import re

import pytest

from interp.report import figure, verdicts_as_latex
from interp.store import Run
from tests.report.example import example_run, failing_run


@pytest.fixture(scope="module")
def run():
    return example_run(6, 12)


@pytest.mark.parametrize(
    ("kind", "begins"), [("pdf", b"%PDF"), ("png", b"\x89PNG"), ("svg", b"<?xml")]
)
def test_a_figure_is_the_content_of_a_file(run, kind, begins):
    found = figure(run, "heatmaps", kind)
    assert found.startswith(begins)
    assert found == figure(run, "heatmaps", kind)


def test_a_figure_that_is_not_there_names_the_nearest(run):
    with pytest.raises(
        ValueError, match="^this run has no figure 'heatmap'; did you mean 'heatmaps'"
    ):
        figure(run, "heatmap", "pdf")


def test_the_verdicts_as_latex(run):
    table = verdicts_as_latex(run)
    assert table.startswith(r"\begin{tabular}{ll")
    assert r"\toprule" in table
    rows = [line for line in table.splitlines() if re.match(r"L\d+H\d+ & ", line)]
    assert len(rows) == 20
    assert all(line.endswith(r" \\") for line in rows)
    assert r"(\%)" in table
    assert table.isascii() or set(table) - set(map(chr, range(128))) <= set("ρτ")
    assert "$-$" in table


def test_what_latex_would_take_for_a_command_is_text(run):
    verdicts = run.tables["verdicts"].assign(verdict="50% of $x_1$ & more")
    table = verdicts_as_latex(
        Run(settings=run.settings, tables=run.tables | {"verdicts": verdicts})
    )
    assert r"50\% of \$x\_1\$ \& more" in table


def test_a_run_that_ranks_no_heads_has_no_table():
    with pytest.raises(ValueError, match="^this run ranks no heads"):
        verdicts_as_latex(failing_run())
