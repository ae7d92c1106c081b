"""What is estimated of each head: attention and effects, with intervals and tests."""

import numpy as np
import pandas as pd
from jaxtyping import Float
from scipy import stats

from interp.contrast.observations import SELECTIVITY, TIERS, Observations, mean_of_defined
from interp.contrast.thresholds import Thresholds
from interp.stats import (
    N_DRAWS,
    Interval,
    equivalence,
    false_discovery,
    max_t,
    mean_interval,
    ratio_interval,
)

_POWER = 0.8


def estimates(
    data: Observations,
    thresholds: Thresholds,
    *,
    seed: int,
    chance: float,
    n_draws: int = N_DRAWS,
) -> pd.DataFrame:
    """One row a head: `layer`, `head`, `label`, and what was measured of it; NaN where it was not.

    - `sink_mass`, `sink_corrected`, and `raw`, `margin`, `cas` with 95 % intervals (`_low`,
      `_high`), cluster-robust, for each head by itself: means over items.
    - `effect_everywhere`, `_query`, `_edge`: shares of the behavioural gap (ratio of means), with
      intervals, and `_p`: the max-T p-value, adjusted for the number of heads.
    - `direct`: what the head says to the logits itself, as a share of the gap, with its interval.
    - `over_edge`: the share of the effect at the query that comes over query → source, with its
      interval, where the head matters at the query.
    - `nothing_edge_p`: that the effect over the edge is not within `thresholds.nothing` of 0 in
      every cell. `nothing_p`: the same of all tiers and the direct effect at once; `nothing_q`
      holds the rate of false discoveries over the heads that attend.
    - `attends`, `matters_everywhere`, `_query`, `_edge`.
    - `n_pairs_to_decide`: about how many pairs it would take to tell with 80 % power that the
      largest effect is there, or, where all lie within `thresholds.nothing`, that there is none.
      NaN where the largest lies between the two thresholds: no number of pairs decides then.

    Args:
        chance: attention that falls on the source when it is spread evenly over all keys that are
            no sink.
        n_draws: of the max-T tests.
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
    table["attends"] = _attends(table, thresholds, chance)
    for tier in TIERS:
        _put_effect(table, tier, data, thresholds, seed=seed, n_draws=n_draws)
    direct = None if data.direct is None else ratio_interval(data.direct, data.gap, data.clusters)
    _put(table, "direct", direct)
    _put_over_edge(table, data)
    _put_nothing(table, data, thresholds)
    table["n_pairs_to_decide"] = _n_pairs_to_decide(table, data, thresholds)
    return table


def selectivity(table: pd.DataFrame) -> str | None:
    """The measure by which heads attend: CAS, else the margin, else raw attention.

    The first that is defined on every item. None where the items name no source.
    """
    return next((name for name in SELECTIVITY if table[f"{name}_low"].notna().any()), None)


def attending(table: pd.DataFrame) -> pd.DataFrame:
    """The heads that attend to the source."""
    return table[table["attends"]]


def mattering(table: pd.DataFrame) -> pd.DataFrame:
    """The heads that matter at some tier."""
    return table[table[[f"matters_{tier}" for tier in TIERS]].any(axis=1)]


def _attends(table: pd.DataFrame, thresholds: Thresholds, chance: float) -> "pd.Series[bool]":
    measure = selectivity(table)
    if measure is None:
        return pd.Series(data=False, index=table.index)
    enough = max(thresholds.attends, min(2 * chance, 0.5))
    return (table["raw"] >= enough) & (table[f"{measure}_low"] > 0)


def _put_effect(
    table: pd.DataFrame,
    tier: str,
    data: Observations,
    thresholds: Thresholds,
    *,
    seed: int,
    n_draws: int,
) -> None:
    name, changes = f"effect_{tier}", data.effects.get(tier)
    if changes is None:
        _put(table, name, None)
        table[f"{name}_p"] = np.nan
    else:
        _put(table, name, ratio_interval(changes, data.gap, data.clusters))
        tested = max_t(changes, data.clusters, n_draws=n_draws, seed=seed)
        table[f"{name}_p"] = tested.p_value
    is_large = table[name].abs() >= thresholds.matters
    table[f"matters_{tier}"] = is_large & (table[f"{name}_p"] < thresholds.alpha)


def _put_over_edge(table: pd.DataFrame, data: Observations) -> None:
    columns = ["over_edge", "over_edge_low", "over_edge_high"]
    shares = np.full((len(table), 3), np.nan)
    if "edge" in data.effects:
        is_distinct = table["effect_query_low"] * table["effect_query_high"] > 0
        for head in np.flatnonzero(table["matters_query"] & is_distinct):
            edge, query = (data.effects[tier][:, head] for tier in ("edge", "query"))
            share = ratio_interval(edge[:, None], query, data.clusters)
            shares[head] = share.estimate[0], share.low[0], share.high[0]
    table[columns] = shares


def _put_nothing(table: pd.DataFrame, data: Observations, thresholds: Thresholds) -> None:
    table["nothing_edge_p"] = table["nothing_p"] = table["nothing_q"] = np.nan
    if not (data.gap.mean() > 0 and data.has_clusters_in_every_cell):
        return

    def p_value(values: Float[np.ndarray, "item head"]) -> Float[np.ndarray, " head"]:
        bound = thresholds.nothing
        found = equivalence(values, data.gap, data.clusters, bound=bound, cells=data.cells)
        return found.p_value

    of_tiers = {tier: p_value(values) for tier, values in data.effects.items()}
    if "edge" in of_tiers:
        table["nothing_edge_p"] = of_tiers["edge"]
    if data.direct is None:
        return
    table["nothing_p"] = np.max([*of_tiers.values(), p_value(data.direct)], axis=0)
    attending = table["attends"].to_numpy()
    if attending.any():
        table.loc[attending, "nothing_q"] = false_discovery(
            table.loc[attending, "nothing_p"].to_numpy()
        )


def _n_pairs_to_decide(
    table: pd.DataFrame, data: Observations, thresholds: Thresholds
) -> Float[np.ndarray, " head"]:
    n_pairs = len(data.item_ids) / 2
    power = stats.norm.ppf(_POWER)
    one_of_many = stats.norm.ppf(1 - thresholds.alpha / (2 * len(table)))
    two_one_sided = stats.norm.ppf(1 - thresholds.alpha)
    names = [f"effect_{tier}" for tier in data.effects]
    sizes = table[names].abs().to_numpy()
    to_t = stats.t.ppf(0.975, data.n_clusters - 1)
    errors = np.stack([(table[f"{n}_high"] - table[n]).to_numpy() for n in names], axis=1) / to_t
    largest = sizes.argmax(axis=1)[:, None]
    size, error = (np.take_along_axis(each, largest, axis=1)[:, 0] for each in (sizes, errors))
    needed = np.full(len(table), np.nan)
    counts, is_small = size >= thresholds.matters, (sizes < thresholds.nothing).all(axis=1)
    needed[counts] = n_pairs * ((one_of_many + power) * error[counts] / size[counts]) ** 2
    ratios = (two_one_sided + power) * errors[is_small] / (thresholds.nothing - sizes[is_small])
    needed[is_small] = n_pairs * (ratios**2).max(axis=1)
    whole: Float[np.ndarray, " head"] = np.ceil(needed)
    return whole


def _put(table: pd.DataFrame, name: str, interval: Interval | None) -> None:
    """An estimate and its bounds as three columns; NaN where there is none."""
    estimate, low, high = (
        (np.nan,) * 3 if interval is None else (interval.estimate, interval.low, interval.high)
    )
    table[name], table[f"{name}_low"], table[f"{name}_high"] = estimate, low, high
