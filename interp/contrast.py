"""Scores and effects on the same items, side by side: a row for each head, and rank agreement."""

from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float

from interp.heads import Head
from interp.stats import Clusters, Interval, max_t, mean_interval, rank_agreement, ratio_interval

TIERS = ("everywhere", "query", "edge")

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
SELECTIVITY = ("cas", "margin", "raw")
N_BOOT = 2000


@dataclass(frozen=True, kw_only=True)
class Thresholds:
    """From where on a head attends, and matters. Recorded in every run.

    Attributes:
        attends: least raw attention to the source.
        matters: least |effect|, as a share of the gap.
        nothing: largest |effect| that counts as none seen.
        alpha: significance, adjusted for the number of heads.
    """

    attends: float = 0.05
    matters: float = 0.05
    nothing: float = 0.02
    alpha: float = 0.05

    def as_dict(self) -> dict[str, float]:
        """As it stands in `run.json`."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class Observations:
    """The tables of a run as arrays, items in one order and heads in another.

    Attributes:
        heads: the columns of the arrays.
        scores: by measure; NaN where undefined.
        effects: by tier, intact − edited in units of the metric.
        gap: intact − corrupt, in the same unit.
        clusters: one or two ways.
    """

    heads: list[Head]
    item_ids: list[str]
    scores: dict[str, Float[np.ndarray, "item head"]]
    effects: dict[str, Float[np.ndarray, "item head"]]
    gap: Float[np.ndarray, " item"]
    clusters: Clusters


def observations(scores: pd.DataFrame, effects: pd.DataFrame, items: pd.DataFrame) -> Observations:
    """Arrays from the tables of scores, effects and items, for the heads that have effects."""
    item_ids = list(items["item_id"])
    effects = effects.assign(effect=effects["intact"] - effects["edited"])
    by_tier = {
        str(tier): _grid(table, "effect", item_ids) for tier, table in effects.groupby("scope")
    }
    by_measure = {
        str(name): _grid(table, "value", item_ids) for name, table in scores.groupby("measure")
    }
    columns = next(iter(by_tier.values())).columns
    by_measure = {name: grid[columns] for name, grid in by_measure.items()}
    heads = [Head(*pair) for pair in columns]
    return Observations(
        heads=heads,
        item_ids=item_ids,
        scores={name: grid.to_numpy(float) for name, grid in by_measure.items()},
        effects={tier: grid.to_numpy(float) for tier, grid in by_tier.items()},
        gap=(items["clean"] - items["corrupt"]).to_numpy(float),
        clusters=cluster_labels(items),
    )


def cluster_labels(items: pd.DataFrame) -> Clusters:
    """One array of labels, or two where the design is crossed."""
    ways = [items["cluster"].to_numpy(str), items["other_cluster"].to_numpy(str)]
    return ways[:1] if (ways[0] == ways[1]).all() else ways


def head_effects(effects: pd.DataFrame) -> pd.DataFrame:
    """Each head's mean effect at each tier, largest first: `intact − edited`, and as a share.

    The share is of the gap between the intact and the counterfactual run (ratio of means).
    """
    columns = ["intact", "edited", "corrupt"]
    means = effects.groupby(["scope", "layer", "head"], as_index=False)[columns].mean()
    effect = means["intact"] - means["edited"]
    labels = [
        Head(layer, head).label for layer, head in zip(means["layer"], means["head"], strict=True)
    ]
    return (
        means.assign(
            label=labels, effect=effect, share=effect / (means["intact"] - means["corrupt"])
        )
        .sort_values("effect", key=abs, ascending=False, ignore_index=True)
        .drop(columns=columns)
    )


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
        table[name] = _mean_of_defined(data.scores[name])
    for name in SELECTIVITY:
        values = data.scores[name]
        is_whole = not np.isnan(values).any()
        _put(table, name, mean_interval(values, data.clusters) if is_whole else None)
        table[name] = _mean_of_defined(values)
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


def league(data: Observations, *, seed: int) -> pd.DataFrame:
    """Rank agreement over heads of each measure with the size of the effect at each tier.

    Spearman's ρ and Kendall's τ_b with |effect|, over the `n_heads` heads on which the measure is
    defined for every item; intervals from a bootstrap over clusters, for both sides at once. On
    pairs in which the source moves, the mean margin is the CAS by construction, so it stands only
    where there is no CAS. A measure or tier on which all heads are the same gives no ranking and no
    row. Empty where the items name no source.
    """
    rows = []
    cas_is_defined = not np.isnan(data.scores["cas"]).any()
    for measure in ("raw", "sink_corrected", "cas" if cas_is_defined else "margin"):
        scores = data.scores[measure]
        defined = ~np.isnan(scores).any(axis=0)
        if not defined.any():
            continue
        for tier in [tier for tier in TIERS if tier in data.effects]:
            sizes = np.abs(data.effects[tier][:, defined].mean(axis=0))
            if not (_differ(scores[:, defined].mean(axis=0)) and _differ(sizes)):
                continue
            agreement = rank_agreement(
                scores[:, defined],
                data.effects[tier][:, defined],
                data.clusters,
                size=np.abs,
                n_boot=N_BOOT,
                seed=seed,
            )
            rows.append(
                {
                    "measure": measure,
                    "tier": tier,
                    "spearman": agreement.spearman.estimate,
                    "spearman_low": agreement.spearman.low,
                    "spearman_high": agreement.spearman.high,
                    "kendall": agreement.kendall.estimate,
                    "kendall_low": agreement.kendall.low,
                    "kendall_high": agreement.kendall.high,
                    "n_heads": int(defined.sum()),
                }
            )
    return pd.DataFrame(rows)


def by_template(data: Observations, items: pd.DataFrame) -> pd.DataFrame:
    """Each head's attention and effects in each template by itself, without intervals."""
    frames = []
    for template, places in items.groupby("template_id", sort=True).indices.items():
        table = pd.DataFrame(data.heads, columns=["layer", "head"])
        table.insert(0, "template_id", str(template))
        table["label"] = [head.label for head in data.heads]
        for name in SELECTIVITY:
            table[name] = _mean_of_defined(data.scores[name][places])
        for tier, values in data.effects.items():
            table[f"effect_{tier}"] = values[places].mean(axis=0) / data.gap[places].mean()
        frames.append(table)
    return pd.concat(frames, ignore_index=True)


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


def _differ(means: Float[np.ndarray, " head"]) -> bool:
    """Whether heads are not all the same, up to rounding in fp32."""
    return bool(np.ptp(means) > 1e-6 * np.abs(means).max())


def _put(table: pd.DataFrame, name: str, interval: Interval | None) -> None:
    """An estimate and its bounds as three columns; NaN where there is none."""
    estimate, low, high = (
        (np.nan,) * 3 if interval is None else (interval.estimate, interval.low, interval.high)
    )
    table[name], table[f"{name}_low"], table[f"{name}_high"] = estimate, low, high


def _grid(table: pd.DataFrame, value: str, item_ids: list[str]) -> pd.DataFrame:
    grid = table.pivot(index="item_id", columns=["layer", "head"], values=value)
    return grid.loc[item_ids].sort_index(axis=1)


def _mean_of_defined(values: Float[np.ndarray, "item head"]) -> Float[np.ndarray, " head"]:
    """Means over items without those on which a head's score is undefined; NaN if that is all."""
    count = (~np.isnan(values)).sum(axis=0)
    means = np.full(values.shape[1], np.nan)
    np.divide(np.nansum(values, axis=0), count, out=means, where=count > 0)
    return means
