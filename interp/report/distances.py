"""Where a behaviour is shown, and how far: families by distance, a panel for each prefix."""

from collections.abc import Sequence

import matplotlib as mpl
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from interp.report.canvas import COLOURS, STYLE, legend_above, panels
from interp.report.tidy import colour_limit

_HELD = {"fixed_source": "the source in place", "fixed_query": "the query in place"}
NEAR = "near"
"""The column of families that have no distance."""


@mpl.rc_context(STYLE)
def contrast_map(whole: pd.DataFrame, *, prefixes: Sequence[str]) -> Figure:
    """The contrast in logits; × where it does not pass the gate, empty where it was not measured.

    Args:
        whole: one row a prefix and family: `prefix, kind, mode, distance, contrast, passes`;
            `distance` is NaN for a family that has none.
        prefixes: the panels, in order; those without a row are left out.
    """
    table = whole.assign(
        row=[_row(kind, mode) for kind, mode in zip(whole["kind"], whole["mode"], strict=True)],
        column=[NEAR if np.isnan(each) else str(int(each)) for each in whole["distance"]],
    )
    # the families without a distance first; of the others, both modes of a kind together
    rows = sorted(
        dict.fromkeys(table["row"]), key=lambda row: row if row.endswith(" fixed") else ""
    )
    distances = sorted(set(whole["distance"].dropna().astype(int)))
    columns = [name for name in (NEAR, *map(str, distances)) if name in set(table["column"])]
    limit = colour_limit(table["contrast"], at_least=0.5)
    shown = [prefix for prefix in prefixes if (table["prefix"] == prefix).any()]
    figure, all_axes = panels(len(shown), height=0.9 + 0.17 * len(rows))
    for axes, prefix in zip(all_axes, shown, strict=True):
        of_prefix = table[table["prefix"] == prefix]
        grids = {
            name: of_prefix.pivot(index="row", columns="column", values=name).reindex(
                index=rows, columns=columns
            )
            for name in ("contrast", "passes")
        }
        sns.heatmap(
            grids["contrast"].astype(float),
            ax=axes,
            cmap="RdBu_r",
            vmin=-limit,
            vmax=limit,
            xticklabels=True,
            yticklabels=axes is all_axes[0],
            cbar=axes is all_axes[-1],
            cbar_kws={"label": "Contrast (logits)", "shrink": 0.5},
        )
        _mark(axes, grids["passes"])
        axes.set(title=f"prefix: {prefix}", xlabel="Distance (tokens)", ylabel="")
        axes.tick_params(axis="x", rotation=90)
    return figure


@mpl.rc_context(STYLE)
def contrast_curves(whole: pd.DataFrame) -> Figure:
    """The contrast of each long-range family against distance, with 95 % intervals; a panel a mode.

    Open marks do not pass the gate.

    Args:
        whole: as in `contrast_map`, of one prefix, with `contrast_low` and `contrast_high`.
    """
    far = whole[whole["distance"].notna()]
    far = far.assign(kind=far["kind"].str.removeprefix("long_range/").str.replace("_", " "))
    modes = [mode for mode in _HELD if mode in set(far["mode"])]
    kinds = list(dict.fromkeys(far["kind"]))
    figure, all_axes = panels(len(modes), height=2.9)
    for axes in all_axes[1:]:
        axes.sharey(all_axes[0])
    for axes, mode in zip(all_axes, modes, strict=True):
        axes.axhline(0, color="0.75", lw=0.7, zorder=0)
        here = far[far["mode"] == mode]
        for colour, name in zip(COLOURS, kinds, strict=False):
            curve = here[here["kind"] == name].sort_values("distance")
            axes.fill_between(
                curve["distance"], curve["contrast_low"], curve["contrast_high"],
                color=colour, alpha=0.12, lw=0,
            )  # fmt: skip
            axes.plot(curve["distance"], curve["contrast"], color=colour, lw=1.1, label=name)
            is_shown = curve["passes"].astype(bool)
            for part, face in ((curve[is_shown], colour), (curve[~is_shown], "white")):
                axes.plot(
                    part["distance"], part["contrast"], ls="", marker="o", ms=3.5, mew=0.9,
                    mec=colour, mfc=face,
                )  # fmt: skip
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_locator(FixedLocator(sorted(set(here["distance"]))))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0f}"))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set(title=_HELD[mode], xlabel="distance (tokens)", ylabel="")
    all_axes[0].set(ylabel="contrast (logits)")
    legend_above(figure, all_axes[0], n_columns=4)
    return figure


def reach(whole: pd.DataFrame) -> pd.DataFrame:
    """How far each long-range behaviour is shown: one row a `prefix`, `kind` and `mode`.

    `reach` is the longest distance up to which the gate is passed at every one that was measured,
    0 where it fails at the first; `measured` is the longest that was measured.

    Args:
        whole: as in `contrast_map`.
    """
    rows = []
    far = whole[whole["distance"].notna()]
    for (prefix, kind, mode), group in far.groupby(["prefix", "kind", "mode"], sort=False):
        near_first = group.sort_values("distance")
        passed = near_first["passes"].astype(bool).cumprod().astype(bool)
        distances = near_first["distance"].astype(int)
        rows.append(
            {
                "prefix": prefix,
                "kind": str(kind).removeprefix("long_range/"),
                "mode": mode,
                "reach": int(distances[passed].max()) if passed.any() else 0,
                "measured": int(distances.max()),
            }
        )
    return pd.DataFrame(rows, columns=["prefix", "kind", "mode", "reach", "measured"])


def _mark(axes: Axes, passes: pd.DataFrame) -> None:
    """An × on each measured cell that does not pass."""
    for row, values in enumerate(passes.to_numpy()):
        for column, value in enumerate(values):
            if value is False or value is np.False_:
                axes.text(column + 0.5, row + 0.5, "×", ha="center", va="center", fontsize=6)


def _row(kind: str, mode: object) -> str:
    """A family's kind, and which end is held in place."""
    held = {"fixed_source": ", source fixed", "fixed_query": ", query fixed"}
    return kind.removeprefix("long_range/") + held.get(str(mode), "")
