"""Heads against distance: runs of one long-range family, from near to far."""

import re
from collections.abc import Iterator, Mapping

import matplotlib as mpl
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from interp.contrast import selectivity
from interp.report.canvas import COLOURS, STYLE, legend_above, panels, percent_labels
from interp.report.spelling import SHORT, listed
from interp.report.tidy import TIERS, finest_tier
from interp.store import Run

_N_HEADS = 5
_TASK = re.compile(r"long_range-(?P<kind>.+)-(?P<distance>\d+)-(?P<mode>fixed_\w+)")
_HELD = {"fixed_source": "source in place", "fixed_query": "query in place"}


def families(runs: Mapping[str, Run]) -> Iterator[tuple[str, pd.DataFrame]]:
    """The long-range families that were run at two distances or more, with their leading heads.

    The five heads whose effects are largest, in sum over distances. One row a head, distance and
    side: `label`, `distance`, `side` (a measure of attention, or a tier of effect), `value`, `low`,
    `high`.
    """
    by_family: dict[str, dict[int, Run]] = {}
    for run in runs.values():
        place = _TASK.fullmatch(run.settings["task"])
        if place is None or "verdicts" not in run.tables:
            continue
        if selectivity(run.tables["verdicts"]) is None:
            continue
        name = f"{place['kind'].replace('_', ' ')}, {_HELD.get(place['mode'], place['mode'])}"
        by_family.setdefault(name, {})[int(place["distance"])] = run
    for name, of_family in by_family.items():
        if len(of_family) > 1:
            yield name, _leading(of_family)


@mpl.rc_context(STYLE)
def curves(table: pd.DataFrame) -> Figure:
    """Attention on the left and effect on the right, against distance, a colour a head."""
    sides = sorted(dict.fromkeys(table["side"]), key=lambda side: side in TIERS)
    figure, all_axes = panels(len(sides), height=2.8)
    for axes, side in zip(all_axes, sides, strict=True):
        axes.axhline(0, color="0.75", lw=0.7, zorder=0)
        for colour, label in zip(COLOURS, dict.fromkeys(table["label"]), strict=False):
            curve = table[(table["side"] == side) & (table["label"] == label)]
            axes.fill_between(
                curve["distance"], curve["low"], curve["high"], color=colour, alpha=0.12, lw=0
            )
            axes.plot(
                curve["distance"], curve["value"], color=colour, lw=1.1, marker="o", ms=3,
                label=label,
            )  # fmt: skip
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_locator(FixedLocator(sorted(set(table["distance"]))))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0f}"))
        axes.xaxis.set_minor_locator(NullLocator())
        is_effect = side in TIERS
        axes.set(
            title=f"Effect {TIERS[side]}" if is_effect else f"Attention: {SHORT[side]}",
            xlabel="distance (tokens)",
            ylabel="share of the gap" if is_effect else "",
        )
        if is_effect:
            axes.yaxis.set_major_formatter(percent_labels())
    legend_above(figure, all_axes[0], n_columns=_N_HEADS)
    return figure


def caption(table: pd.DataFrame) -> str:
    """What to see in `curves`."""
    distances = sorted(set(table["distance"]))
    return (
        f"The {table['label'].nunique()} heads with the largest effects over the distances "
        f"{listed([str(distance) for distance in distances])}, with 95 % intervals. A head whose "
        "attention stays and whose effect goes is no carrier at that distance."
    )


def _leading(of_family: Mapping[int, Run]) -> pd.DataFrame:
    rows = []
    for distance in sorted(of_family):
        verdicts = of_family[distance].tables["verdicts"]
        measure = selectivity(verdicts)
        assert measure is not None
        tier = finest_tier(verdicts)
        for side, column in ((measure, measure), (tier, f"effect_{tier}")):
            rows.append(
                pd.DataFrame(
                    {
                        "label": verdicts["label"],
                        "distance": distance,
                        "side": side,
                        "value": verdicts[column],
                        "low": verdicts[f"{column}_low"],
                        "high": verdicts[f"{column}_high"],
                    }
                )
            )
    table = pd.concat(rows, ignore_index=True)
    effects = table[table["side"].isin(TIERS)]
    sizes = effects["value"].abs().groupby(effects["label"]).sum()
    leading = sizes.nlargest(_N_HEADS).index
    order = {label: place for place, label in enumerate(leading)}
    heads = table[table["label"].isin(leading)]
    return heads.sort_values("label", key=lambda labels: labels.map(order), kind="stable")
