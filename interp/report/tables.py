"""The tables of the page: which rows, which columns, every cell already written out."""

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite, nan
from typing import Any

import pandas as pd

from interp.report.spelling import MEASURES, SHORT, number, p_value, whole_percent
from interp.report.tidy import TIERS, measured_tiers, ranked

_Column = tuple[str, str, Callable[[dict[str, Any], str], str]]  # heading, column, how to write it
_N_HEADS = 20
_BATTERY = {
    "previous_token": "the token before",
    "duplicate": "an earlier copy of the same token",
    "induction": "what followed an earlier copy",
    "first_token": "the first token",
}

_CONTROLS = {
    "measured": "it scores",
    "label swap": "labels swapped",
    "label swap, best head": "swapped, best head",
    "even": "even attention",
    "fixed offset": "best fixed offset",
    "random init": "untrained model",
    "random init, embeddings kept": "untrained, embeddings kept",
}


@dataclass(frozen=True)
class Table:
    """Headings and cells as text. The first `n_text` columns hold words, the others numbers."""

    columns: list[str]
    rows: list[list[str]]
    n_text: int = 1


def verdicts(table: pd.DataFrame, measure: str | None, tier: str) -> Table:
    """The 20 heads that stand highest by attention or by the size of their effect at the query.

    Where attention is not scored, by the effect alone, and without a verdict on the two.
    """
    by_effect = ranked(table, "effect_query", by_size=True)
    orders = [by_effect] if measure is None else [ranked(table, measure), by_effect]
    standing = pd.concat([pd.Series(range(len(order)), index=order["label"]) for order in orders])
    chosen = standing.groupby(level=0).min().sort_values(kind="stable").index[:_N_HEADS]
    heads = table.set_index("label", drop=False).loc[chosen]
    verdict = ("verdict", "verdict", _text)
    sink = ("sink", "sink_mass", _plain)
    return _written(
        heads.sort_values("effect_query", key=abs, ascending=False),
        [
            ("head", "label", _text),
            *([] if measure is None else [verdict, *_attention(measure), sink]),
            *_effects(measured_tiers(table)),
            (f"p {TIERS[tier]}", f"effect_{tier}_p", _p),
        ],
    )


def by_template(table: pd.DataFrame, pair: pd.DataFrame, measure: str) -> Table:
    """The two heads of the pair, template by template, in as far as that was measured."""
    columns = [
        ("head", "label", _text),
        ("template", "template_id", _text),
        *_attention(measure),
        *_effects(TIERS),
    ]
    return _written(
        pd.concat(table[table["label"] == label] for label in pair["label"]),
        [column for column in columns if column[1] in table],
    )


def behaviour(table: pd.DataFrame) -> Table:
    """The contrast of each template, and whether it passes the gate."""
    return Table(
        columns=[
            *("template", "gate", "pairs", "clusters", "tokens"),
            *("contrast", "p", "contrast above 0", "accuracy"),
        ],
        rows=[
            [
                row["template_id"],
                "passes" if row["passes"] else f"does not pass: {row['reason']}",
                *(f"{row[column]:.0f}" for column in ("n_pairs", "n_clusters", "n_tokens")),
                bounded(row, "contrast"),
                p_value(row["p_value"]),
                *(whole_percent(row[column]) for column in ("share_flipped", "accuracy")),
            ]
            for row in rows_of(table)
        ],
        n_text=2,
    )


def cells(table: pd.DataFrame) -> Table:
    """The behaviour in each cell of the design."""
    metric = next(name.removesuffix("_low") for name in table if name.endswith("_low"))
    return Table(
        columns=["template", "cell", "items", metric.replace("_", " "), "accuracy"],
        rows=[
            [
                row["template_id"],
                row["cell"],
                f"{row['n_items']:.0f}",
                bounded(row, metric),
                whole_percent(row["accuracy"]),
            ]
            for row in rows_of(table)
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
                    for row in rows_of(ranked(table, column).head(3))
                ),
            ]
            for column, meaning in _BATTERY.items()
        ],
        n_text=2,
    )


def controls(table: pd.DataFrame) -> Table:
    """The best head by each measure of attention, beside all that it must beat.

    A control that is none of these measures' is left out.
    """
    values = table.pivot(index="measure", columns="control", values="value")
    there = [control for control in _CONTROLS if values[control].notna().any()]
    best = table[table["control"] == "measured"].set_index("measure")["head"]
    return Table(
        columns=["measure", "best head", *(_CONTROLS[control] for control in there)],
        rows=[
            [
                MEASURES.get(measure, measure),
                best[measure],
                *(_plain_or_dash(values.loc[measure, control]) for control in there),
            ]
            for measure in table["measure"].unique()
        ],
        n_text=2,
    )


def _plain_or_dash(value: float) -> str:
    return number(value) if isfinite(value) else "–"


def _written(heads: pd.DataFrame, columns: list[_Column]) -> Table:
    return Table(
        columns=[heading for heading, _, _ in columns],
        rows=[[write(row, name) for _, name, write in columns] for row in rows_of(heads)],
        n_text=sum(write is _text for _, _, write in columns),
    )


def _attention(measure: str) -> list[_Column]:
    """Raw attention, and the measure by which heads attend where that is another."""
    scored = (SHORT[measure], measure, bounded)
    return [scored] if measure == "raw" else [(SHORT["raw"], "raw", _plain), scored]


def _effects(tiers: dict[str, str]) -> list[_Column]:
    return [
        (f"effect {name} (%)", f"effect_{tier}", _bounded_percent) for tier, name in tiers.items()
    ]


def rows_of(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows by the names of their columns."""
    rows: list[dict[str, Any]] = table.to_dict("records")
    return rows


def _text(row: dict[str, Any], column: str) -> str:
    return str(row[column])


def _plain(row: dict[str, Any], column: str) -> str:
    return number(row[column])


def _p(row: dict[str, Any], column: str) -> str:
    return p_value(row[column])


def bounded(row: dict[str, Any], column: str, *, unit: float = 1.0, digits: int = 2) -> str:
    """A value in units of `unit`, with its interval in brackets if any; a dash if undefined."""
    value, low, high = (row.get(f"{column}{end}", nan) / unit for end in ("", "_low", "_high"))
    if not isfinite(value):
        return "–"
    bounds = f" [{number(low, digits)}, {number(high, digits)}]" * isfinite(low)
    return f"{number(value, digits)}{bounds}"


def _bounded_percent(row: dict[str, Any], column: str) -> str:
    return bounded(row, column, unit=0.01, digits=1)
