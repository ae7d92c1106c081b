"""The verdict on each head: an ordered list of rules, of which the first that fits decides."""

import numpy as np
import pandas as pd

from interp.contrast.because import because
from interp.contrast.estimates import estimates, selectivity
from interp.contrast.labels import Verdict
from interp.contrast.observations import TIERS, Observations
from interp.contrast.thresholds import Thresholds
from interp.stats import N_DRAWS

EVIDENCE = {
    "conditional": np.nan,
    "conditional_p": np.nan,
    "backups": "",
    "idle_together": np.nan,
    "neutral": np.nan,
    "subtype": "",
}
"""What further measurements may say of a head, and what stands where they do not.

`conditional` is the head's effect once its `backups` are removed, as a share, with its adjusted
p-value; `idle_together` whether all heads that seem idle do nothing when removed at once, 1 or 0;
`neutral` what the head's removal adds to the loss on neutral text, as a share of what that of all
heads adds; `subtype` how a verdict comes about.
"""


def verdicts(
    data: Observations,
    thresholds: Thresholds,
    *,
    seed: int,
    chance: float,
    evidence: pd.DataFrame | None = None,
    n_draws: int = N_DRAWS,
) -> pd.DataFrame:
    """One row a head: the columns of `estimates`, of the evidence, and a verdict.

    `verdict` is one of `Verdict`, `because` says in words what it rests on. Redundant and idle are
    claims that single removals cannot make: without evidence such heads are inconclusive.

    Args:
        chance, n_draws: as in `estimates`.
        evidence: `layer`, `head` and any columns of `EVIDENCE`, for some heads or all.
    """
    table = estimates(data, thresholds, seed=seed, chance=chance, n_draws=n_draws)
    return judged(table, thresholds, evidence)


def judged(
    table: pd.DataFrame, thresholds: Thresholds, evidence: pd.DataFrame | None = None
) -> pd.DataFrame:
    """The table of `estimates` with evidence, `verdict` and `because`."""
    if evidence is not None:
        table = table.merge(evidence, on=["layer", "head"], how="left", validate="1:1")
    for column, nothing in EVIDENCE.items():
        table[column] = table[column].fillna(nothing) if column in table else nothing
    table["verdict"] = _verdicts(table, thresholds)
    table.loc[~table["verdict"].isin(_WITH_SUBTYPE), "subtype"] = ""
    table["because"] = because(table, thresholds)
    return table


_WITH_SUBTYPE = (Verdict.WRONG_EDGE, Verdict.IDLE, Verdict.SILENT)


def _verdicts(table: pd.DataFrame, thresholds: Thresholds) -> "pd.Series[str]":
    effects = table[[f"effect_{tier}" for tier in TIERS]]
    edge, query = table["effect_edge"], table["effect_query"]
    matters = table[[f"matters_{tier}" for tier in TIERS]].any(axis=1)
    attends, scored = table["attends"], selectivity(table) is not None
    is_negative = (
        table[["matters_everywhere", "matters_query"]].to_numpy()
        & (effects[["effect_everywhere", "effect_query"]] < 0).to_numpy()
    ).any(axis=1)
    edge_is_there = (table["effect_edge_p"] < thresholds.alpha) & (edge > 0)
    comes_to_nothing = table["nothing_edge_p"] < thresholds.alpha
    is_small = (effects.abs() < thresholds.matters).any(axis=1) & ~(
        effects.abs() >= thresholds.matters
    ).any(axis=1)
    has_backups = (table["conditional"] >= thresholds.matters) & (
        table["conditional_p"] < thresholds.alpha
    )
    is_nothing = (table["nothing_q"] < thresholds.alpha) & (table["idle_together"] == 1)
    rules = [
        (is_negative, Verdict.NEGATIVE),
        (matters & (not scored), Verdict.CAUSAL),
        (
            attends & table["matters_query"] & edge_is_there & (edge >= query / 2),
            Verdict.CONSISTENT,
        ),
        (attends & matters & comes_to_nothing, Verdict.WRONG_EDGE),
        (attends & matters & edge_is_there & (edge < query / 2), Verdict.PARTLY),
        (attends & is_small & has_backups, Verdict.REDUNDANT),
        (attends & is_nothing, Verdict.IDLE),
        (~attends & matters, Verdict.SILENT),
        (attends | ~is_small, Verdict.INCONCLUSIVE),
    ]
    conditions, labels = zip(*rules, strict=True)
    return pd.Series(np.select(conditions, labels, Verdict.NEITHER), index=table.index)
