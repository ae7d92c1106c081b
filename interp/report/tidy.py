"""The verdicts in the shapes that drawing and describing need. Pandas only.

Takes the table of one row per head: `layer, head, label, reading, cas, effect_query, …`.
"""

import numpy as np
import pandas as pd

from interp.contrast import ELSEWHERE, NO_EFFECT, ON_EDGE, SILENT

TIERS = {"everywhere": "everywhere", "query": "at the query", "edge": "on the edge"}

ATTENDS = (ON_EDGE, ELSEWHERE, NO_EFFECT)
MATTERS = (ON_EDGE, ELSEWHERE, SILENT)


def grid(verdicts: pd.DataFrame, column: str) -> pd.DataFrame:
    """One column as layers (rows) × heads (columns), in the order of their numbers.

    Raises:
        ValueError: a head stands in the table twice.
    """
    return verdicts.pivot(index="layer", columns="head", values=column)


def finite(values: pd.Series) -> pd.Series:
    """The values that are numbers: neither NaN nor infinite."""
    return values[np.isfinite(values)]


def finite_rows(table: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """The rows that can be drawn: finite in all of these columns."""
    return table[np.isfinite(table[list(columns)]).all(axis=1)]


def colour_limit(values: pd.Series, *, at_least: float) -> float:
    """Where a colour scale centred on 0 ends: the 99th percentile of the finite magnitudes.

    The few largest heads saturate, so that others can be seen; `at_least`, the size that counts,
    keeps what is smaller than that from being drawn as if it were large.
    """
    magnitudes = finite(values).abs()
    return max(at_least, float(magnitudes.quantile(0.99)) if len(magnitudes) else 0.0)


def ranked(verdicts: pd.DataFrame, column: str, *, by_size: bool = False) -> pd.DataFrame:
    """The heads with a finite value, largest first (largest magnitude with `by_size`).

    Equal heads stay in the order of layer and head.
    """
    values = finite(verdicts[column])
    order = (values.abs() if by_size else values).sort_values(ascending=False, kind="stable")
    return verdicts.loc[order.index]


def with_reading(verdicts: pd.DataFrame, *readings: str) -> pd.DataFrame:
    """The heads whose reading is one of these."""
    return verdicts[verdicts["reading"].isin(readings)]


def largest_effects(verdicts: pd.DataFrame, n_heads: int) -> pd.DataFrame:
    """The heads with the largest effect, of either sign, at any tier."""
    sizes = verdicts[[f"effect_{tier}" for tier in TIERS]].replace([np.inf, -np.inf], np.nan).abs()
    return ranked(verdicts.assign(size=sizes.max(axis=1)), "size").head(n_heads)


def three_tiers(verdicts: pd.DataFrame) -> pd.DataFrame:
    """One row per head and tier: `label, reading, tier, value, low, high`."""
    return pd.concat(
        verdicts[["label", "reading"]].assign(
            tier=name,
            value=verdicts[f"effect_{tier}"],
            low=verdicts[f"effect_{tier}_low"],
            high=verdicts[f"effect_{tier}_high"],
        )
        for tier, name in TIERS.items()
    )


def telling_pair(verdicts: pd.DataFrame) -> pd.DataFrame | None:
    """Two heads that tell the story: one attends with no effect seen, one matters.

    The first is the most selective of its kind. The second is the one with the largest effect on
    the edge among heads that attend too, where there are any. None where either is missing.
    """
    attends = ranked(with_reading(verdicts, NO_EFFECT), "cas")
    for reading, tier in ((ON_EDGE, "edge"), (ELSEWHERE, "query"), (SILENT, "query")):
        matters = ranked(with_reading(verdicts, reading), f"effect_{tier}", by_size=True)
        if len(attends) and len(matters):
            return pd.concat([attends.head(1), matters.head(1)])
    return None
