"""Tables to figures. Each function takes tidy tables and returns a matplotlib Figure of its own.

Signed values are drawn on scales centred on 0; what is not finite is hatched or left out, and
`captions` says how many.
"""

import matplotlib as mpl
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter

from interp.contrast import Verdict
from interp.report.canvas import COLOURS, STYLE, legend_above, panels, percent_labels
from interp.report.labels import place_labels
from interp.report.spelling import SHORT, kind, unit, visible
from interp.report.tidy import (
    TIERS,
    colour_limit,
    finite_rows,
    grid,
    ranked,
    three_tiers,
)

VERDICT_COLOURS: dict[str, str] = {
    Verdict.CONSISTENT: COLOURS[0],
    Verdict.CAUSAL: COLOURS[0],
    Verdict.PARTLY: COLOURS[9],
    Verdict.WRONG_EDGE: COLOURS[4],
    Verdict.IDLE: COLOURS[3],
    Verdict.REDUNDANT: COLOURS[1],
    Verdict.SILENT: COLOURS[2],
    Verdict.NEGATIVE: COLOURS[5],
    Verdict.INCONCLUSIVE: "#8c8c8c",
    Verdict.NEITHER: "#cfcfcf",
}
TIER_COLOURS = dict(zip(TIERS.values(), ("#1b3a4b", "#4f8a8b", "#e0a458"), strict=True))


@mpl.rc_context(STYLE)
def heatmaps(
    verdicts: pd.DataFrame,
    measure: str | None,
    *,
    thresholds: dict[str, float],
    pair: pd.DataFrame | None,
) -> Figure:
    """Attention and effect at the query on one layer × head grid; the pair's heads are outlined.

    A dot marks an effect that is significant, adjusted over the heads, and of a size that counts.

    Args:
        verdicts: one row per head.
        measure: of attention; None draws the effect alone.
        thresholds: `attends` and `matters`, the least that the two scales extend to.
        pair: see `telling_pair`.
    """
    n_layers = verdicts["layer"].nunique()
    grids: list[tuple[str, float, str, FuncFormatter | None]] = [
        ("effect_query", thresholds["matters"], "Effect at the query", percent_labels())
    ]
    if measure is not None:
        grids.insert(0, (measure, thresholds["attends"], f"Attention: {kind(measure)}", None))
    height = float(np.clip(0.15 * n_layers + 0.9, 2.4, 7.5))
    figure, all_axes = panels(len(grids), height=height)
    for axes, (column, at_least, title, numbers) in zip(all_axes, grids, strict=True):
        values = grid(verdicts, column)
        _heatmap(axes, values, colour_limit(verdicts[column], at_least=at_least), numbers)
        axes.set(title=title, xlabel="head", ylabel="layer")
        if column == "effect_query":
            _mark(axes, grid(verdicts, "matters_query"))
        for head in [] if pair is None else pair.itertuples():
            corner = (values.columns.get_loc(head.head), values.index.get_loc(head.layer))
            outline = Rectangle(corner, 1, 1, fill=False, edgecolor="black", lw=1.2, clip_on=False)
            axes.add_patch(outline)
    return figure


@mpl.rc_context(STYLE)
def attention_against_effect(
    verdicts: pd.DataFrame, measure: str, tier: str, *, matters: float
) -> Figure:
    """Attention against the effect at a tier, coloured by verdict, the extremes named.

    Args:
        verdicts: one row per head.
        measure: of attention, along the horizontal axis.
        tier: of the effect, along the vertical axis.
        matters: the share of the gap from which an effect counts; dashed, on either side of 0.
    """
    figure, (axes,) = panels(1, height=4.4)
    # the heads that stand out are drawn last, on top
    order = list(VERDICT_COLOURS)[::-1]
    effect = f"effect_{tier}"
    heads = finite_rows(verdicts, measure, effect).sort_values(
        "verdict", key=lambda names: names.map(order.index), kind="stable"
    )
    for size in (-matters, matters):
        axes.axhline(size, color="0.75", lw=0.7, ls=(0, (4, 3)), zorder=0)
    axes.axhline(0, color="0.75", lw=0.7, zorder=0)
    axes.axvline(0, color="0.75", lw=0.7, zorder=0)
    lines = {"colors": heads["verdict"].map(VERDICT_COLOURS), "lw": 0.7, "alpha": 0.8, "zorder": 1}
    axes.hlines(heads[effect], heads[f"{measure}_low"], heads[f"{measure}_high"], **lines)
    axes.vlines(heads[measure], heads[f"{effect}_low"], heads[f"{effect}_high"], **lines)
    sns.scatterplot(
        data=heads,
        x=measure,
        y=effect,
        hue="verdict",
        hue_order=[name for name in VERDICT_COLOURS if name in set(heads["verdict"])],
        palette=VERDICT_COLOURS,
        s=18,
        linewidth=0.3,
        zorder=2,
        ax=axes,
    ).get_legend().remove()
    axes.yaxis.set_major_formatter(percent_labels())
    axes.set(
        xlabel=f"attention: {kind(measure)}",
        ylabel=f"effect {TIERS[tier]} (share of the gap)",
    )
    legend_above(figure, axes)
    named = pd.concat(
        [ranked(heads, effect, by_size=True).head(4), ranked(heads, measure).head(4)]
    )["label"].drop_duplicates()
    points = heads.rename(columns={measure: "x", effect: "y"})[["x", "y", "label"]]
    place_labels(axes, points, named=named.to_list())
    return figure


@mpl.rc_context(STYLE)
def telling_pair(pair: pd.DataFrame, measure: str) -> Figure:
    """Two heads: what attention says on the left, the tiers of effect on the right."""
    figure, (left, right) = panels(2, height=1.9)
    attention = pd.concat(
        pair[["label"]].assign(
            row=SHORT[column],
            value=pair[column],
            low=pair.get(f"{column}_low", pair[column]),
            high=pair.get(f"{column}_high", pair[column]),
        )
        for column in dict.fromkeys(("raw", "sink_corrected", measure))
    )
    palette = dict(zip(pair["label"], pair["verdict"].map(VERDICT_COLOURS), strict=True))
    dots(left, attention, hue="label", palette=palette)
    dots(right, three_tiers(pair).rename(columns={"tier": "row"}), hue="label", palette=palette)
    left.set(title="What attention says", xlabel="attention to the source")
    right.set(title="What exchanging the head shows", xlabel="effect (share of the gap)")
    right.xaxis.set_major_formatter(percent_labels())
    legend_above(figure, left)
    return figure


@mpl.rc_context(STYLE)
def tiers(largest: pd.DataFrame) -> Figure:
    """The effect of each head everywhere, at the query and on the edge."""
    figure, (axes,) = panels(1, height=0.9 + 0.3 * len(largest))
    table = three_tiers(largest).rename(columns={"label": "row"})
    dots(axes, table, hue="tier", palette=TIER_COLOURS)
    axes.xaxis.set_major_formatter(percent_labels())
    axes.set(xlabel="effect (share of the gap)")
    legend_above(figure, axes)
    return figure


@mpl.rc_context(STYLE)
def behaviour(table: pd.DataFrame, metric: str) -> Figure:
    """The contrast of each template in a metric, by whether it passes the gate."""
    rows = table.assign(
        row=table["template_id"].map(visible),
        value=table["contrast"],
        low=table["contrast_low"],
        high=table["contrast_high"],
        gate=table["passes"].map({True: "passes", False: "does not pass"}),
    )
    figure, (axes,) = panels(1, height=0.9 + 0.26 * len(rows))
    dots(axes, rows, hue="gate", palette={"passes": COLOURS[0], "does not pass": COLOURS[3]})
    axes.set(xlabel=f"contrast between prompt and counterfactual ({unit(metric)})")
    legend_above(figure, axes)
    return figure


def _heatmap(axes: Axes, values: pd.DataFrame, limit: float, numbers: FuncFormatter | None) -> None:
    """A grid on a diverging scale from −limit to limit; cells that are not finite are hatched."""
    is_clipped = (values.abs() > limit).any(axis=None)
    axes.patch.set(facecolor="white", edgecolor="0.6", hatch="//////")  # seen where masked
    sns.heatmap(
        values,
        mask=~np.isfinite(values),
        # symmetric limits, not `center`: that would rebuild the colour map
        vmin=-limit,
        vmax=limit,
        cmap="vlag",
        xticklabels=_tick_step(values.shape[1]),
        yticklabels=_tick_step(values.shape[0]),
        cbar_kws={
            "extend": "both" if is_clipped else "neither",
            "shrink": 0.7,
            "aspect": 25,
            "format": numbers,
        },
        rasterized=True,
        ax=axes,
    )
    axes.tick_params(length=0, labelrotation=0)


def _mark(axes: Axes, matters: pd.DataFrame) -> None:
    """A dot in each cell whose effect is significant and counts."""
    rows, columns = np.nonzero(matters.to_numpy() == 1)
    axes.scatter(columns + 0.5, rows + 0.5, s=5, color="black", lw=0.6, edgecolor="white")


def _tick_step(n_ticks: int) -> int:
    """Every tick, or every second, fifth, …: at most 16 of them."""
    return next(step for step in (1, 2, 5, 10, 20, 50, 100) if n_ticks <= 16 * step)


def dots(axes: Axes, table: pd.DataFrame, *, hue: str, palette: dict[str, str]) -> None:
    """Points with intervals: a line for each `row`, from the top; hues slightly apart.

    Takes `row, value, low, high` and the hue's column. What is not finite leaves its line empty.
    """
    names = list(dict.fromkeys(table["row"]))
    table = finite_rows(table, "value").reset_index(drop=True)
    hues = [name for name in palette if name in set(table[hue])]
    apart = 0.22 if table["row"].duplicated().any() else 0.0
    offsets = {name: apart * (place - (len(hues) - 1) / 2) for place, name in enumerate(hues)}
    table = table.assign(y=table["row"].map(names.index) + table[hue].map(offsets))
    axes.axvline(0, color="0.75", lw=0.7, zorder=0)
    axes.hlines(table["y"], table["low"], table["high"], colors=table[hue].map(palette), lw=1.2)
    sns.scatterplot(
        data=table,
        x="value",
        y="y",
        hue=hue,
        style=hue,
        hue_order=hues,
        style_order=hues,
        palette=palette,
        markers=dict(zip(palette, ("o", "D", "s"), strict=False)),
        s=24,
        linewidth=0.3,
        zorder=3,
        ax=axes,
    ).get_legend().remove()
    axes.set_yticks(range(len(names)), names)
    axes.set(ylim=(len(names) - 0.5, -0.5), ylabel="")
    axes.grid(axis="y", color="0.93", lw=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
