"""The sheet that every figure is drawn on: size, type, colours, and its bytes in a file.

Nothing goes through pyplot: there are no global figures, and no backend is chosen.
"""

from io import BytesIO
from typing import Literal

import matplotlib as mpl
import numpy as np
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

_WIDTH = 6.9  # inches: both columns of a two-column paper
STYLE = {
    **sns.plotting_context("paper"),
    **sns.axes_style("ticks"),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.dpi": 200,
    "font.size": 8,
    "axes.labelsize": 8,
    "axes.titlesize": 8.5,
    "legend.fontsize": 7.5,
    "legend.title_fontsize": 7.5,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "hatch.linewidth": 0.4,
    "text.parse_math": False,  # a "$" in a template's name is a "$"
}
Kind = Literal["png", "svg", "pdf"]
_WITHOUT_DATE: dict[Kind, dict[str, None]] = {
    "png": {"Software": None},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
}
COLOURS = [to_hex(colour) for colour in sns.color_palette("colorblind")]


def panels(n_panels: int, *, height: float) -> tuple[Figure, list[Axes]]:
    """A figure as wide as a page, with panels side by side; the height in inches."""
    figure = Figure(figsize=(_WIDTH, height), layout="constrained")
    return figure, list(np.ravel(figure.subplots(1, n_panels)))


def percent_labels() -> FuncFormatter:
    """Shares as percentages along an axis."""
    return FuncFormatter(lambda share, _: f"{round(100 * share, 6):z.3g} %".replace("-", "−"))


def legend_above(figure: Figure, axes: Axes, *, n_columns: int = 3) -> None:
    """What the colours of these axes mean, above the figure; four names stand in one line."""
    handles, names = axes.get_legend_handles_labels()
    columns = 4 if len(names) == 4 else n_columns
    figure.legend(handles, names, loc="outside upper center", ncols=columns, frameon=False)


# a paper's PDF holds its fonts as text that can be searched; 42 is TrueType
@mpl.rc_context({**STYLE, "svg.fonttype": "none", "svg.hashsalt": "interp", "pdf.fonttype": 42})
def encoded(figure: Figure, kind: Kind) -> bytes:
    """The figure as the content of a file; the same tables give the same bytes."""
    file = BytesIO()
    without_date = _WITHOUT_DATE[kind]
    figure.savefig(file, format=kind, metadata=without_date)
    return file.getvalue()
