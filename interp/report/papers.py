"""Single figures and the table of verdicts as files that a paper takes in."""

import pandas as pd

from interp.contrast import selectivity
from interp.heads import nearest_name
from interp.report import canvas, tables
from interp.report.canvas import Kind
from interp.report.page import Plate, plates
from interp.report.tidy import finest_tier
from interp.store import Run

_SIGNS = {"\N{MINUS SIGN}": "$-$", "\N{MULTIPLICATION SIGN}": r"$\times$", "\N{EN DASH}": "--"}


def plate(run: Run, name: str) -> Plate:
    """One of the page's figures, with its caption; a notebook shows it as it stands in a cell.

    Its `figure.axes` are matplotlib's, to be drawn on.

    Raises:
        ValueError: the page of this run has no figure of that name.
    """
    by_name = {plate.name: plate for plate in plates(run)}
    if name not in by_name:
        nearest = nearest_name(name, tuple(by_name))
        hint = f"did you mean {nearest!r}?" if nearest else f"there are {', '.join(by_name)}."
        raise ValueError(f"this run has no figure {name!r}; {hint}")
    return by_name[name]


def figure(run: Run, name: str, kind: Kind) -> bytes:
    """One of the page's figures as the content of a file.

    Raises:
        ValueError: the page of this run has no figure of that name.
    """
    return canvas.encoded(plate(run, name).figure, kind)


def verdicts_as_latex(run: Run) -> str:
    """The page's table of verdicts, for the package booktabs.

    Raises:
        ValueError: the run ranks no heads.
    """
    if "verdicts" not in run.tables:
        raise ValueError("this run ranks no heads, since its behaviour does not pass the gate.")
    verdicts = run.tables["verdicts"]
    table = tables.verdicts(verdicts, selectivity(verdicts), finest_tier(verdicts))
    written: str = (
        pd.DataFrame(table.rows, columns=table.columns)
        .style.hide(axis="index")
        .format(escape="latex")
        .format_index(escape="latex", axis="columns")
        .to_latex(
            hrules=True,
            column_format="l" * table.n_text + "r" * (len(table.columns) - table.n_text),
        )
    )
    for sign, command in _SIGNS.items():
        written = written.replace(sign, command)
    return written
