"""Every measure of attention and of the metric, held to what joint removal shows on other items."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool

from interp.contrast import CAUSAL, RANDOM, Contender, Observations, league
from interp.contrast.captured import Curves, captured, nothing_to_share
from interp.contrast.league import left_out
from interp.contrast.orders import order_of
from interp.effects.curves import joint_curves, matched_order
from interp.effects.metrics import Metric
from interp.effects.scopes import Scope
from interp.encode import Batch
from interp.heads import Head
from interp.items import Item
from interp.leagues.entries import N_SEEDS, entries
from interp.leagues.halves import halves, some_pairs, too_few
from interp.leagues.values import blocks
from interp.models.model import Model
from interp.progress import Progress, silent
from interp.shards import Shards

KS = (1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20)
"""How many heads are removed together; in small models up to half of all heads."""
N_SCORED = 48
"""The most pairs on which measures are taken; of the discovery half first."""
N_FLOOR = 8
"""The most pairs on which floors are measured."""
N_HELD_OUT = {Scope.EVERYWHERE: 16, Scope.QUERY: 24, Scope.EDGE: 24}
"""The most pairs on which sets of heads are removed; everywhere costs most."""
N_RANDOM = 10
"""How many random orders there are."""


@dataclass(frozen=True, kw_only=True)
class Leagues:
    """The leagues of one task.

    Attributes:
        tables: `league`, one row a measure and tier (see `contrast.league.league`; with the areas
            of `contrast.captured` where something is held out); `captured`, one row a measure, tier
            and k; `left_out`, the measures that are in none, with reasons.
        how: for `run.json`: how the halves were made, and how many pairs were used for what.
    """

    tables: dict[str, pd.DataFrame]
    how: dict[str, Any]


def leagues(
    model: Model,
    batches: Sequence[Batch],
    data: Observations,
    *,
    metric: Metric,
    seed: int,
    memory: int | None = None,
    shards: Shards | None = None,
    progress: Progress = silent,
) -> Leagues:
    """How well each measure tells which heads matter, at every tier at which there are effects.

    Heads are ordered on half of the items, by each measure and by the effect itself, and the top k
    removed together on others. Orders are by mean, highest first, signs kept: heads that work
    against the behaviour stand last by effect, and take from the share of an order that leads with
    them. Rank agreement is on all items that are scored, held out or not.

    Args:
        batches: of the items of `data`.
        metric: the one of `data.effects`.
        shards: where measures and removals are kept, and who removes; nowhere and here when None.
    """
    shards = shards or Shards()
    by_id = {item.item_id: item for batch in batches for item in batch.items}
    items = [by_id[item_id] for item_id in data.item_ids]
    tiers = [tier for tier in N_HELD_OUT if str(tier) in data.effects]
    parted = halves(items, data.clusters, seed=seed)
    scored = some_pairs(items, N_SCORED, first=parted.discovery, seed=seed)
    few = some_pairs(items, N_FLOOR, first=parted.discovery, seed=seed)
    on_scored = data.of_items(scored)
    cost = int(scored.sum()) + (1 + N_SEEDS) * int(few.sum())
    with progress(f"{items[0].task}: measures", cost) as advance:
        contenders, reasons = entries(
            model, model.encode(_chosen(items, scored)), model.encode(_chosen(items, few)), tiers,
            metric, on_scored.item_ids, shards=shards, advance=advance,
        )  # fmt: skip
    ranked = league(contenders, on_scored, blocks=blocks(model, batches[0]), seed=seed)
    reasons = pd.concat([reasons, left_out(contenders, [str(tier) for tier in tiers])])
    tables = {"league": ranked, "left_out": reasons.reset_index(drop=True)}
    how: dict[str, Any] = {
        "n_pairs_scored": int(scored.sum()) // 2,
        "n_pairs_floor": int(few.sum()) // 2,
    }
    why_not = too_few(parted, data.clusters)
    if why_not:
        return Leagues(tables=tables, how=how | {"halves": why_not})
    how |= {"halves": parted.how, "n_pairs_held_out": {}, "no_share": {}}
    found = []
    for tier in tiers:
        held_out = some_pairs(items, N_HELD_OUT[tier], first=parted.held_out, seed=seed)
        held_out &= parted.held_out
        orders = _orders(contenders, str(tier), data, parted.discovery, scored, seed)
        if "raw" not in orders:
            how["no_share"][str(tier)] = "Raw attention ranks no heads here."
            continue
        curves = _removed(
            model, items, data, held_out, orders, tier,
            metric=metric, seed=seed, memory=memory, shards=shards, progress=progress,
        )  # fmt: skip
        how["n_pairs_held_out"][str(tier)] = int(held_out.sum()) // 2
        if reason := nothing_to_share(curves):
            how["no_share"][str(tier)] = reason
        else:
            found.append(captured(curves, seed=seed))
    if found:
        tables["captured"] = pd.concat([each.curves for each in found], ignore_index=True)
        areas = pd.concat([each.areas for each in found], ignore_index=True)
        tables["league"] = ranked.merge(areas, how="left", on=["measure", "tier"])
    return Leagues(tables=tables, how=how)


def _orders(
    contenders: Sequence[Contender],
    tier: str,
    data: Observations,
    discovery: Bool[np.ndarray, " item"],
    scored: Bool[np.ndarray, " item"],
    seed: int,
) -> dict[str, list[Head]]:
    """All heads by each measure that ranks them, and by the effect, on discovery items."""
    means = {
        each.name: each.means(tier, discovery[scored])
        for each in contenders
        if not each.why_no_ranking(tier)
    }
    means[CAUSAL] = data.effects[tier][discovery].mean(axis=0)
    return {
        name: [data.heads[place] for place in order_of(values, seed=seed)]
        for name, values in means.items()
    }


def _removed(
    model: Model,
    items: Sequence[Item],
    data: Observations,
    held_out: Bool[np.ndarray, " item"],
    orders: dict[str, list[Head]],
    tier: Scope,
    *,
    metric: Metric,
    seed: int,
    memory: int | None,
    shards: Shards,
    progress: Progress,
) -> Curves:
    """What goes with the top of each order, and of random ones, on held-out items."""
    ks = [k for k in KS if k <= max(1, len(data.heads) // 2)]
    generator = np.random.default_rng(seed)
    drawn = {
        f"{RANDOM} {number}": matched_order(orders[CAUSAL][: ks[-1]], model.n_heads, generator)
        for number in range(N_RANDOM)
    }
    batches = model.encode(_chosen(items, held_out))
    found = joint_curves(
        model, batches, orders | drawn, ks=ks, scope=tier, metric=metric, memory=memory,
        shards=shards, progress=progress,
    )  # fmt: skip
    rows = [data.item_ids.index(item.item_id) for batch in batches for item in batch.items]
    return Curves(
        tier=str(tier),
        ks=ks,
        orders={name: found[name] for name in orders},
        random=np.stack([found[name] for name in drawn]),
        clusters=[way[rows] for way in data.clusters],
    )


def _chosen(items: Sequence[Item], marked: Bool[np.ndarray, " item"]) -> list[Item]:
    return [item for item, is_chosen in zip(items, marked, strict=True) if is_chosen]
