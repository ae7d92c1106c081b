"""The verdicts in the shapes that drawing and describing need. Pandas only.

Takes the table of one row per head: `layer, head, label, verdict, cas, effect_query, …`, with NaN
where nothing was measured. `interp.contrast.selectivity` says by which measure heads attend, and
`finest_tier` against which effect it is held; everything else in the report is told.
"""

import numpy as np
import pandas as pd

from interp.contrast import Verdict, attending, mattering

TIERS = {"everywhere": "everywhere", "query": "at the query", "edge": "on the edge"}


def measured_tiers(verdicts: pd.DataFrame) -> dict[str, str]:
    """The tiers at which there are effects, with their names, from the widest to the finest."""
    return {tier: name for tier, name in TIERS.items() if len(finite(verdicts[f"effect_{tier}"]))}


def finest_tier(verdicts: pd.DataFrame) -> str:
    """The tier closest to what attention claims: the edge; where that was not measured, the query.

    Long contexts and pairs without a source leave tiers out, the query never.
    """
    return list(measured_tiers(verdicts))[-1]


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


def with_verdict(verdicts: pd.DataFrame, *named: Verdict) -> pd.DataFrame:
    """The heads that have one of these verdicts."""
    return verdicts[verdicts["verdict"].isin(named)]


def undecided(verdicts: pd.DataFrame) -> pd.DataFrame:
    """The heads of which nothing is shown, among those that attend or may matter."""
    return with_verdict(verdicts, Verdict.INCONCLUSIVE)


def largest_effects(verdicts: pd.DataFrame, n_heads: int) -> pd.DataFrame:
    """The heads with the largest effect, of either sign, at any tier."""
    sizes = verdicts[[f"effect_{tier}" for tier in TIERS]].replace([np.inf, -np.inf], np.nan).abs()
    return ranked(verdicts.assign(size=sizes.max(axis=1)), "size").head(n_heads)


def three_tiers(verdicts: pd.DataFrame) -> pd.DataFrame:
    """One row per head and measured tier: `label, verdict, tier, value, low, high`."""
    return pd.concat(
        verdicts[["label", "verdict"]].assign(
            tier=name,
            value=verdicts[f"effect_{tier}"],
            low=verdicts[f"effect_{tier}_low"],
            high=verdicts[f"effect_{tier}_high"],
        )
        for tier, name in measured_tiers(verdicts).items()
    )


def telling_pair(verdicts: pd.DataFrame, measure: str | None) -> pd.DataFrame | None:
    """Two heads that tell the story: one attends to no effect, one matters.

    The first is the idle head that stands highest by the measure; where none is shown to be idle,
    a redundant one; where there is none, one that attends, does not matter, and is undecided. The
    second is the one with the largest effect on the edge among heads that attend too, where there
    are any. None where either is missing, or attention is not scored.
    """
    if measure is None:
        return None
    quiet = attending(verdicts[~verdicts.index.isin(mattering(verdicts).index)])
    firsts = (
        ranked(with_verdict(quiet, verdict), measure)
        for verdict in (Verdict.IDLE, Verdict.REDUNDANT, Verdict.INCONCLUSIVE)
    )
    first = next((heads for heads in firsts if len(heads)), None)
    for verdict, tier in (
        (Verdict.CONSISTENT, "edge"),
        (Verdict.PARTLY, "edge"),
        (Verdict.WRONG_EDGE, "query"),
        (Verdict.SILENT, "query"),
    ):
        matters = ranked(with_verdict(verdicts, verdict), f"effect_{tier}", by_size=True)
        if first is not None and len(matters):
            return pd.concat([first.head(1), matters.head(1)])
    return None
