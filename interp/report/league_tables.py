"""The tables of the leagues and of the sweep over thresholds, every cell already written out."""

from math import isfinite
from typing import Any

import pandas as pd

from interp.contrast import LEAGUES
from interp.report.spelling import MEASURES, number, p_value
from interp.report.tables import Table, bounded, rows_of
from interp.report.tidy import TIERS


def leagues(table: pd.DataFrame) -> dict[str, Table]:
    """A table a league: its measures by tier, those that capture or rank most first."""
    by = "area" if "area" in table else "spearman"
    best_first = table.assign(tier_order=table["tier"].map(list(TIERS).index)).sort_values(
        ["tier_order", by, "spearman"], ascending=[False, False, False], kind="stable"
    )
    return {
        name: _league(best_first[best_first["league"] == name])
        for name in LEAGUES
        if name in set(table["league"])
    }


def threshold_sweep(table: pd.DataFrame) -> Table:
    """How many heads attend and matter at other thresholds."""
    return Table(
        columns=[
            *("attends from", "matters from (%)", "attend", "matter", "both"),
            "attend, no effect so large",
        ],
        rows=[
            [
                number(row["attends"]),
                number(100 * row["matters"], 0),
                *(f"{row[f'n_{what}']:.0f}" for what in ("attend", "matter", "both")),
                f"{row['n_idle_looking']:.0f}",
            ]
            for row in rows_of(table)
        ],
        n_text=0,
    )


def stability(table: pd.DataFrame) -> Table:
    """How much of the top of each ranking stays when items are drawn anew."""
    return Table(
        columns=["ranking", "first", "overlap when items are drawn anew"],
        rows=[
            [
                MEASURES.get(row["ranking"]) or f"effect {TIERS[row['ranking']]}",
                f"{row['k']:.0f}",
                bounded(row, "jaccard"),
            ]
            for row in rows_of(table.rename(columns={"low": "jaccard_low", "high": "jaccard_high"}))
        ],
        n_text=1,
    )


def _league(table: pd.DataFrame) -> Table:
    has_areas = "area" in table
    headings = ["captured (%)", "over raw attention (points)"] if has_areas else []
    return Table(
        columns=[
            *("effect", "measure", *headings, "Spearman's ρ", "Kendall's τ", "ρ within layers"),
            *("p", "ceiling of ρ", "ρ / ceiling", "ρ untrained", "ρ labels swapped", "heads"),
        ],
        rows=[
            [
                TIERS[row["tier"]],
                MEASURES[row["measure"]],
                *(_captured(row) if has_areas else []),
                bounded(row, "spearman"),
                bounded(row, "kendall"),
                _dashed(row["partial"]),
                p_value(row["p"]),
                *map(_dashed, (row["ceiling"], row["of_ceiling"])),
                *map(_dashed, (row["random_init"], row["label_swap"])),
                f"{row['n_heads']:.0f}",
            ]
            for row in rows_of(table)
        ],
        n_text=2,
    )


def _captured(row: dict[str, Any]) -> list[str]:
    over = "" if row["measure"] == "raw" else bounded(row, "area_over_raw", unit=0.01, digits=0)
    return [bounded(row, "area", unit=0.01, digits=0), over]


def _dashed(value: float) -> str:
    return number(value) if isfinite(value) else "–"
