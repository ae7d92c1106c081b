"""One row a head: what attention says, what removal shows, and how to read the two together."""

import numpy as np
import pandas as pd

from interp.contrast.observations import SELECTIVITY, TIERS, Observations, mean_of_defined
from interp.contrast.thresholds import Thresholds
from interp.stats import Interval, max_t, mean_interval, ratio_interval

ON_EDGE = "attends and matters on that edge"
PARTLY = "attends and matters, partly on that edge"
ELSEWHERE = "attends and matters, elsewhere"
UNLOCATED = "attends and matters"
NO_EFFECT = "attends, no effect seen"
SMALL = "attends, small effect"
UNCERTAIN = "attends, effect uncertain"
SILENT = "matters, does not attend"
NEITHER = "neither"
MATTERS = "matters"
UNSEEN = "no effect seen"


def verdicts(
    data: Observations, thresholds: Thresholds, *, seed: int, chance: float
) -> pd.DataFrame:
    """One row a head: what attention says, what removal shows at each tier, and how to read it.

    Scores are means over items. `raw`, `margin`, `cas` and the effects carry 95 % intervals,
    cluster-robust, for each head by itself. Effects are shares of the behavioural gap (ratio of
    means). `effect_*_p` is the sign-flip max-T p-value, adjusted for the number of heads. What was
    not measured is NaN. `reading` is descriptive: "no effect seen" is not "idle".

    Args:
        chance: attention that falls on the source when it is spread evenly over all keys that are
            no sink.
    """
    table = pd.DataFrame(data.heads, columns=["layer", "head"])
    table["label"] = [head.label for head in data.heads]
    for name in ("sink_mass", "sink_corrected"):
        table[name] = mean_of_defined(data.scores[name])
    for name in SELECTIVITY:
        values = data.scores[name]
        is_whole = not np.isnan(values).any()
        _put(table, name, mean_interval(values, data.clusters) if is_whole else None)
        table[name] = mean_of_defined(values)
    for tier in TIERS:
        name, changes = f"effect_{tier}", data.effects.get(tier)
        if changes is None:
            _put(table, name, None)
            table[f"{name}_p"] = np.nan
        else:
            _put(table, name, ratio_interval(changes, data.gap, data.clusters))
            table[f"{name}_p"] = max_t(changes, data.clusters, seed=seed).p_value
    table["reading"] = _readings(table, thresholds, chance)
    return table


def selectivity(verdicts: pd.DataFrame) -> str | None:
    """The measure by which heads attend: CAS, else the margin, else raw attention.

    The first that is defined on every item. None where the items name no source.
    """
    return next((name for name in SELECTIVITY if verdicts[f"{name}_low"].notna().any()), None)


def _readings(table: pd.DataFrame, thresholds: Thresholds, chance: float) -> "pd.Series[str]":
    """How each head reads; the first that fits.

    A head that attends and matters is on the edge when at least half of its effect at the query
    comes over it, and elsewhere when what comes over it is within `thresholds.nothing` of 0. The
    effect of a head that attends is uncertain when it is large enough to matter and not
    significant, and small when it is neither that nor within `thresholds.nothing` of 0. Where no
    edge was measured the effect is not located, and without a source nothing is said of attention.
    """
    measure = selectivity(table)

    def significant(tier: str) -> "pd.Series[bool]":
        return table[f"effect_{tier}_p"] < thresholds.alpha

    def matters(tier: str) -> "pd.Series[bool]":
        return (table[f"effect_{tier}"].abs() >= thresholds.matters) & significant(tier)

    acts = matters("everywhere") | matters("query") | matters("edge")
    if measure is None:
        return acts.map({True: MATTERS, False: UNSEEN})
    enough = max(thresholds.attends, min(2 * chance, 0.5))
    attends = (table["raw"] >= enough) & (table[f"{measure}_low"] > 0)
    edge, query = table["effect_edge"], table["effect_query"]
    on_edge = significant("edge") & (edge * query > 0) & (edge.abs() >= query.abs() / 2)
    off_edge = edge.abs() <= thresholds.nothing
    sizes = table[[f"effect_{tier}" for tier in TIERS]].abs()
    cases = [
        (attends & acts & edge.isna(), UNLOCATED),
        (attends & acts & on_edge, ON_EDGE),
        (attends & acts & off_edge, ELSEWHERE),
        (attends & acts, PARTLY),
        (attends & (sizes >= thresholds.matters).any(axis=1), UNCERTAIN),
        (attends & (sizes > thresholds.nothing).any(axis=1), SMALL),
        (attends, NO_EFFECT),
        (acts, SILENT),
    ]
    conditions, readings = zip(*cases, strict=True)
    return pd.Series(np.select(conditions, readings, NEITHER), index=table.index)


def _put(table: pd.DataFrame, name: str, interval: Interval | None) -> None:
    """An estimate and its bounds as three columns; NaN where there is none."""
    estimate, low, high = (
        (np.nan,) * 3 if interval is None else (interval.estimate, interval.low, interval.high)
    )
    table[name], table[f"{name}_low"], table[f"{name}_high"] = estimate, low, high
