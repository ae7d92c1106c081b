"""Plain forms of figure for tables of any question: lines, points, columns of points, maps."""

from collections.abc import Mapping, Sequence
from typing import Literal

import matplotlib as mpl
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from interp.report.canvas import COLOURS, STYLE, legend_above, panels
from interp.report.figures import dots
from interp.report.labels import place_labels
from interp.report.tidy import finite_rows

Scale = Literal["linear", "log"]


@mpl.rc_context(STYLE)
def curves(
    table: pd.DataFrame,
    *,
    x: str,
    ys: Mapping[str, str],
    x_label: str,
    y_label: str = "",
    x_scale: Scale = "log",
    y_scale: Scale | Sequence[Scale] = "linear",
    height: float = 2.4,
) -> Figure:
    """A panel for each quantity, a line for each `series`, with its interval as a band.

    Args:
        table: `series`, x, and for each quantity its columns `y`, `y_low`, `y_high` (the last two
            if it has an interval).
        ys: columns by the title of their panel.
    """
    figure, all_axes = panels(len(ys), height=height)
    series = list(dict.fromkeys(table["series"]))
    palette = dict(zip(series, COLOURS, strict=False))
    scales = [y_scale] * len(ys) if isinstance(y_scale, str) else y_scale
    for axes, (title, y), scale in zip(all_axes, ys.items(), scales, strict=True):
        for name, rows in table.sort_values(x).groupby("series", sort=False):
            colour = palette[str(name)]
            axes.plot(
                rows[x], rows[y], color=colour, label=name, marker="o", ms=3, lw=1.2, zorder=3
            )
            if f"{y}_low" in rows:
                low, high = rows[f"{y}_low"], rows[f"{y}_high"]
                axes.fill_between(rows[x], low, high, color=colour, alpha=0.15, lw=0)
        axes.set(title=title, xlabel=x_label, ylabel=y_label if axes is all_axes[0] else "")
        _set_y_scale(axes, scale)
        if x_scale == "log":
            axes.set_xscale("log", base=2)
            places = sorted(set(table[x]))
            step = 1 + (len(places) - 1) // 4
            axes.set_xticks(places[::step], [f"{place:g}" for place in places[::step]])
            axes.minorticks_off()
    if len(series) > 1:
        lines = dict(zip(*all_axes[0].get_legend_handles_labels()[::-1], strict=True))
        figure.legend(
            [lines[name] for name in series],
            series,
            loc="outside upper center",
            ncols=min(4, len(series)),
            frameon=False,
        )
    return figure


@mpl.rc_context(STYLE)
def strips(
    table: pd.DataFrame,
    *,
    x: str,
    y: str,
    hue: str,
    panel: str,
    labels: tuple[str, str],
    scale: Scale = "linear",
    lines: Mapping[float, str] | None = None,
    height: float = 2.6,
) -> Figure:
    """Heads by layer, a point each, a panel for each value of a column, colours by another.

    Args:
        labels: of the two axes.
        lines: places on the vertical axis that mean something, with their names.
    """
    names = list(dict.fromkeys(table[panel]))
    figure, all_axes = panels(len(names), height=height)
    hues = list(dict.fromkeys(table[hue]))
    palette = dict(zip(hues, COLOURS, strict=False))
    for axes, name in zip(all_axes, names, strict=True):
        here = table[table[panel] == name].reset_index(drop=True)
        for place, text in (lines or {}).items():
            axes.axhline(place, color="0.6", lw=0.7, ls=(0, (4, 3)), zorder=0)
            if axes is all_axes[-1]:
                axes.annotate(
                    text, (1, place), xycoords=("axes fraction", "data"), xytext=(-2, 2),
                    textcoords="offset points", fontsize=6.5, color="0.35", ha="right",
                )  # fmt: skip
        sns.scatterplot(
            data=here, x=x, y=y, hue=hue, hue_order=hues, palette=palette, s=11, linewidth=0.2,
            alpha=0.85, ax=axes,
        ).get_legend().remove()  # fmt: skip
        _set_y_scale(axes, scale)
        axes.set(title=name, xlabel=labels[0], ylabel=labels[1] if axes is all_axes[0] else "")
    legend_above(figure, all_axes[0])
    return figure


def _set_y_scale(axes: Axes, scale: Scale) -> None:
    axes.set_yscale(scale)
    if scale == "log":
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


@mpl.rc_context(STYLE)
def points(
    table: pd.DataFrame,
    *,
    x: str,
    y: str,
    hue: str,
    panel: str,
    labels: tuple[str, str],
    palette: Mapping[str, str],
    lines: tuple[Sequence[float], Sequence[float]] = ((), ()),
    height: float = 3.0,
) -> Figure:
    """Two quantities against each other, a panel for each value of a column, on the same scales.

    Args:
        table: where its column `is_named` is true, its `label` is written beside the point.
        palette: colours of the hues, the first drawn last, on top.
        lines: thresholds on either axis, dashed.
    """
    names = list(dict.fromkeys(table[panel]))
    figure, all_axes = panels(len(names), height=height)
    order = {name: number for number, name in enumerate(palette)}
    for axes, name in zip(all_axes, names, strict=True):
        here = table[table[panel] == name].reset_index(drop=True)
        here = here.loc[here[hue].map(order).sort_values(ascending=False, kind="stable").index]
        if axes is not all_axes[0]:
            axes.sharex(all_axes[0])
            axes.sharey(all_axes[0])
        for place in lines[0]:
            axes.axvline(place, color="0.75", lw=0.7, ls=(0, (4, 3)), zorder=0)
        for place in lines[1]:
            axes.axhline(place, color="0.75", lw=0.7, ls=(0, (4, 3)), zorder=0)
        axes.axhline(0, color="0.85", lw=0.7, zorder=0)
        sns.scatterplot(
            data=here, x=x, y=y, hue=hue, hue_order=list(palette), palette=dict(palette), s=16,
            linewidth=0.3, zorder=2, ax=axes,
        )  # fmt: skip
        legend = axes.get_legend()
        if legend is not None:  # there is none where no point is drawn
            legend.remove()
        axes.set(title=name, xlabel="", ylabel=labels[1] if axes is all_axes[0] else "")
    figure.supxlabel(labels[0], fontsize=mpl.rcParams["axes.labelsize"])
    legend_above(figure, all_axes[0])
    for axes, name in zip(all_axes, names, strict=True):
        here = finite_rows(table[table[panel] == name], x, y)
        places = here.rename(columns={x: "x", y: "y"})[["x", "y"]]
        places["label"] = here["label"].where(here["is_named"], "")
        place_labels(axes, places, named=list(dict.fromkeys(here.loc[here["is_named"], "label"])))
    return figure


@mpl.rc_context(STYLE)
def squares(
    grids: Mapping[str, pd.DataFrame], *, label: str, ends: Sequence[int], height: float = 3.4
) -> Figure:
    """Square tables side by side, such as distances between heads; lines where a block ends.

    Args:
        ends: how many rows a block (a layer) has, a number for each table.
    """
    figure, all_axes = panels(len(grids), height=height)
    limit = max(float(grid.to_numpy().max()) for grid in grids.values())
    for axes, (title, grid), end in zip(all_axes, grids.items(), ends, strict=True):
        image = axes.imshow(grid.to_numpy(), vmin=0, vmax=limit, cmap="mako", interpolation="none")
        n_blocks = len(grid) // end
        step = 1 if n_blocks <= 8 else 5
        places = np.arange(0, n_blocks, step)
        axes.set_xticks((places + 0.5) * end - 0.5, places)
        axes.set_yticks((places + 0.5) * end - 0.5, places)
        axes.tick_params(length=0)
        axes.set(title=title, xlabel="layer", ylabel="layer")
        for spine in axes.spines.values():
            spine.set_visible(False)
    figure.colorbar(image, ax=list(all_axes), label=label, shrink=0.75, aspect=25)
    return figure


@mpl.rc_context(STYLE)
def intervals(
    table: pd.DataFrame,
    *,
    hue: str,
    label: str,
    panel: str | None = None,
    height: float | None = None,
) -> Figure:
    """Points with intervals: `row`, `value`, `low`, `high`, a colour for each value of a column."""
    names = [""] if panel is None else list(dict.fromkeys(table[panel]))
    n_rows = table["row"].nunique()
    figure, all_axes = panels(len(names), height=0.9 + 0.3 * n_rows if height is None else height)
    palette = dict(zip(dict.fromkeys(table[hue]), COLOURS, strict=False))
    for number, (axes, name) in enumerate(zip(all_axes, names, strict=True)):
        here = table if panel is None else table[table[panel] == name]
        dots(axes, here, hue=hue, palette=palette)
        axes.set(title=name, xlabel=label)
        if number:
            axes.set_yticklabels([])
    if len(palette) > 1:
        legend_above(figure, all_axes[0])
    return figure
