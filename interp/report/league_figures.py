"""The figures of the leagues: what each measure captures, and how it ranks the effects."""

import matplotlib as mpl
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from interp.contrast import LEAGUES, RANDOM
from interp.report.canvas import COLOURS, STYLE, legend_above, panels, percent_labels
from interp.report.figures import TIER_COLOURS, dots
from interp.report.spelling import MEASURES
from interp.report.tidy import TIERS

_N_OF_LEAGUE = 2
_RAW_COLOUR = "black"


@mpl.rc_context(STYLE)
def league(table: pd.DataFrame) -> Figure:
    """Spearman's ρ of each measure with the effects at each tier."""
    best_first = table.groupby("measure")["spearman"].max().sort_values(ascending=False).index
    rows = table.set_index("measure").loc[best_first].reset_index()
    rows = rows.assign(
        row=rows["measure"].replace(MEASURES),
        tier=rows["tier"].replace(TIERS),
        value=rows["spearman"],
        low=rows["spearman_low"],
        high=rows["spearman_high"],
    )
    figure, (axes,) = panels(1, height=0.9 + 0.32 * len(best_first))
    dots(axes, rows, hue="tier", palette=TIER_COLOURS)
    axes.set(xlabel="Spearman's ρ between measure and effect, over heads")
    legend_above(figure, axes)
    return figure


@mpl.rc_context(STYLE)
def captured(curves: pd.DataFrame, table: pd.DataFrame) -> Figure:
    """The share captured by the top k heads of some measures, a panel a tier; random ones grey.

    Args:
        curves: a row a measure, tier and k.
        table: the leagues, which say what to draw: see `drawn`.
    """
    tiers = [tier for tier in TIERS if tier in set(curves["tier"])]
    palette = dict(zip(drawn(table), (_RAW_COLOUR, *COLOURS), strict=False))
    figure, all_axes = panels(len(tiers), height=3.0)
    for axes, tier in zip(all_axes, tiers, strict=True):
        here = curves[curves["tier"] == tier]
        at_random = here[here["measure"] == RANDOM]
        axes.axhline(1, color="0.75", lw=0.7, zorder=0)
        axes.axhline(0, color="0.75", lw=0.7, zorder=0)
        axes.fill_between(
            at_random["k"], at_random["share_low"], at_random["share_high"],
            color="0.85", lw=0, label=MEASURES[RANDOM],
        )  # fmt: skip
        lines = here[here["measure"].isin(palette)]
        for measure, of_measure in lines.groupby("measure", sort=False):
            axes.fill_between(
                of_measure["k"], of_measure["share_low"], of_measure["share_high"],
                color=palette[str(measure)], alpha=0.1, lw=0,
            )  # fmt: skip
        sns.lineplot(
            data=lines.assign(measure=lines["measure"].map(MEASURES)),
            x="k",
            y="share",
            hue="measure",
            hue_order=[MEASURES[name] for name in palette],
            palette={MEASURES[name]: colour for name, colour in palette.items()},
            errorbar=None,
            marker="o",
            markersize=3,
            markeredgewidth=0,
            lw=1.1,
            ax=axes,
        ).get_legend().remove()
        axes.yaxis.set_major_formatter(percent_labels())
        axes.set(title=TIERS[tier], xlabel="heads removed", ylabel="")
    all_axes[0].set(ylabel="share of what the most effective remove")
    legend_above(figure, all_axes[0])
    return figure


def drawn(table: pd.DataFrame) -> list[str]:
    """Raw attention, and the two measures of each league that capture most at the finest tier."""
    tier = [name for name in TIERS if name in set(table.loc[table["area"].notna(), "tier"])][-1]
    here = table[(table["tier"] == tier) & table["area"].notna()]
    best = [
        here[here["league"] == name].nlargest(_N_OF_LEAGUE, "area")["measure"] for name in LEAGUES
    ]
    return list(dict.fromkeys(["raw", *pd.concat(best)]))
