"""The tables of the page: which rows, which columns, every cell already written out."""

from dataclasses import dataclass
from math import isfinite
from typing import Any

import pandas as pd

from interp.report.spelling import MEASURES, number, p_value, whole_percent
from interp.report.tidy import TIERS, ranked

_N_HEADS = 20
_EFFECTS = [f"effect {name} (%)" for name in TIERS.values()]
_BATTERY = {
    "previous_token": "the token before",
    "duplicate": "an earlier copy of the same token",
    "induction": "what followed an earlier copy",
    "first_token": "the first token",
}


@dataclass(frozen=True)
class Table:
    """Headings and cells as text. The first `n_text` columns hold words, the others numbers."""

    columns: list[str]
    rows: list[list[str]]
    n_text: int = 1


def verdicts(table: pd.DataFrame) -> Table:
    """The 20 heads that stand highest by CAS or by the size of their effect at the query."""
    by_cas, by_effect = ranked(table, "cas"), ranked(table, "effect_query", by_size=True)
    standing = pd.concat(
        [pd.Series(range(len(order)), index=order["label"]) for order in (by_cas, by_effect)]
    )
    chosen = standing.groupby(level=0).min().sort_values(kind="stable").index[:_N_HEADS]
    heads = table.set_index("label", drop=False).loc[chosen]
    return Table(
        columns=[
            *("head", "reading", "attention", "sink", "CAS"),
            *_EFFECTS,
            "p on the edge",
        ],
        rows=[
            [
                row["label"],
                row["reading"],
                number(row["raw"]),
                number(row["sink_mass"]),
                _bounded(row, "cas"),
                *(_bounded_percent(row, f"effect_{tier}") for tier in TIERS),
                p_value(row["effect_edge_p"]),
            ]
            for row in _rows(heads.sort_values("effect_query", key=abs, ascending=False))
        ],
        n_text=2,
    )


def league(table: pd.DataFrame) -> Table:
    """How well each measure ranks the effects, best first within a tier."""
    tier_order = table["tier"].map(list(TIERS).index)
    best_first = table.assign(tier_order=tier_order).sort_values(
        ["tier_order", "spearman"], ascending=[True, False]
    )
    return Table(
        columns=["effect", "measure", "Spearman's ρ", "Kendall's τ"],
        rows=[
            [
                TIERS[row["tier"]],
                MEASURES.get(row["measure"], row["measure"]),
                _bounded(row, "spearman"),
                number(row["kendall"]),
            ]
            for row in _rows(best_first)
        ],
        n_text=2,
    )


def by_template(table: pd.DataFrame, pair: pd.DataFrame) -> Table:
    """The two heads of the pair, template by template."""
    return Table(
        columns=["head", "template", "attention", "CAS", *_EFFECTS],
        rows=[
            [
                row["label"],
                row["template_id"],
                number(row["raw"]),
                number(row["cas"]),
                *(number(100 * row[f"effect_{tier}"], 1) for tier in TIERS),
            ]
            for label in pair["label"]
            for row in _rows(table[table["label"] == label])
        ],
        n_text=2,
    )


def behaviour(table: pd.DataFrame) -> Table:
    """The contrast of each template, and whether it passes the gate."""
    return Table(
        columns=[
            *("template", "gate", "pairs", "clusters", "tokens"),
            *("contrast (logits)", "p", "contrast above 0", "accuracy"),
        ],
        rows=[
            [
                row["template_id"],
                "passes" if row["passes"] else f"does not pass: {row['reason']}",
                *(f"{row[column]:.0f}" for column in ("n_pairs", "n_clusters", "n_tokens")),
                _bounded(row, "contrast"),
                p_value(row["p_value"]),
                *(whole_percent(row[column]) for column in ("share_flipped", "accuracy")),
            ]
            for row in _rows(table)
        ],
        n_text=2,
    )


def cells(table: pd.DataFrame) -> Table:
    """The behaviour in each cell of the design."""
    return Table(
        columns=["template", "cell", "items", "logit difference", "accuracy"],
        rows=[
            [
                row["template_id"],
                row["cell"],
                f"{row['n_items']:.0f}",
                f"{number(row['logit_difference'])} [{number(row['low'])}, {number(row['high'])}]",
                whole_percent(row["accuracy"]),
            ]
            for row in _rows(table)
        ],
        n_text=2,
    )


def battery(table: pd.DataFrame) -> Table:
    """The three heads that stand out by each task-free score."""
    return Table(
        columns=["attends to", "heads"],
        rows=[
            [
                meaning,
                ", ".join(
                    f"{row['label']} ({number(row[column])})"
                    for row in _rows(ranked(table, column).head(3))
                ),
            ]
            for column, meaning in _BATTERY.items()
        ],
        n_text=2,
    )


def _rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = table.to_dict("records")
    return rows


def _bounded(row: dict[str, Any], column: str, *, unit: float = 1.0, digits: int = 2) -> str:
    """A value with its interval in brackets, in units of `unit`; a dash if undefined."""
    value, low, high = (row[f"{column}{end}"] / unit for end in ("", "_low", "_high"))
    if not isfinite(value):
        return "–"
    return f"{number(value, digits)} [{number(low, digits)}, {number(high, digits)}]"


def _bounded_percent(row: dict[str, Any], column: str) -> str:
    return _bounded(row, column, unit=0.01, digits=1)
