"""What each verdict rests on, in words with figures."""

from collections.abc import Hashable, Mapping
from math import isfinite
from typing import Any

import pandas as pd

from interp.contrast.labels import Verdict
from interp.contrast.observations import TIERS
from interp.contrast.thresholds import Thresholds

Row = Mapping[Hashable, Any]

_PLACES = {"everywhere": "everywhere", "query": "at the query", "edge": "on the edge"}


def because(table: pd.DataFrame, thresholds: Thresholds) -> "pd.Series[str]":
    """A clause a head, from its row; empty where nothing is claimed."""
    n_idle = int((table["verdict"] == Verdict.IDLE).sum())
    clauses = [_clause(row, thresholds, n_idle) for row in table.to_dict("records")]
    return pd.Series(clauses, index=table.index, dtype=object)


def _clause(row: Row, thresholds: Thresholds, n_idle: int) -> str:
    effects = _effects(row)
    bound = f"within ±{_percent(thresholds.nothing)} in every cell"
    together = f", and so with all {n_idle} heads called idle removed at once" if n_idle > 1 else ""
    over_edge = (
        f"{_percent(row['over_edge'])} ({_percent(row['over_edge_low'])} to "
        f"{_percent(row['over_edge_high'])}) of its effect at the query comes over the edge: "
        if isfinite(row["over_edge"])
        else ""
    )
    neutral = f"; {_percent(row['neutral'])} on neutral text" if isfinite(row["neutral"]) else ""
    clauses = {
        Verdict.NEGATIVE: f"its removal helps: {effects}{neutral}",
        Verdict.CONSISTENT: f"{over_edge}{effects}{neutral}",
        Verdict.PARTLY: f"{over_edge}{effects}{neutral}",
        Verdict.WRONG_EDGE: f"nothing comes over the edge ({bound}): {effects}{neutral}",
        Verdict.REDUNDANT: f"{_percent(row['conditional'])} once {row['backups']} "
        f"{'are' if ',' in row['backups'] else 'is'} removed, and by itself: {effects}",
        Verdict.IDLE: f"wherever it was removed, and directly, {bound}{together}",
        Verdict.SILENT: f"attention to the source {row['raw']:.2f}: {effects}{neutral}",
        Verdict.CAUSAL: f"{effects}{neutral}",
        Verdict.INCONCLUSIVE: _undecided(row, thresholds),
        Verdict.NEITHER: "",
    }
    return clauses[Verdict(row["verdict"])]


def _undecided(row: Row, thresholds: Thresholds) -> str:
    largest = max(abs(row[f"effect_{tier}"]) for tier in TIERS if isfinite(row[f"effect_{tier}"]))
    if any(row[f"matters_{tier}"] for tier in TIERS):
        what, then = "how much comes over the edge is not settled", ""
    elif largest >= thresholds.matters:
        what, then = "an effect that is not significant", _pairs(row)
    elif largest >= thresholds.nothing:
        nothing, matters = _percent(thresholds.nothing), _percent(thresholds.matters)
        what, then = f"an effect between nothing ({nothing}) and what counts ({matters})", ""
    elif row["nothing_q"] < thresholds.alpha:
        what, then = "nothing by itself, and not shown together with its like", ""
    else:
        what, then = "not shown to be nothing in every cell", _pairs(row)
    return f"{what}: {_effects(row)}{then}"


def _pairs(row: Row) -> str:
    needed = row["n_pairs_to_decide"]
    return f"; about {needed:.0f} pairs would decide" if isfinite(needed) else ""


def _effects(row: Row) -> str:
    """ "18 % everywhere, 2 % at the query, 0 % on the edge"."""
    return ", ".join(
        f"{_percent(row[f'effect_{tier}'])} {place}"
        for tier, place in _PLACES.items()
        if isfinite(row[f"effect_{tier}"])
    )


def _percent(share: float) -> str:
    text = f"{100 * share:.0f} %"
    return text.replace("-0 %", "0 %").replace("-", "−")
