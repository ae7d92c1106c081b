"""The held-out share of the joint effect that the top k heads of each measure capture."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int

from interp.stats import Clusters, mean_interval
from interp.stats.shares import bounded, drawn_shares

CAUSAL = "causal"
RANDOM = "random"
N_BOOT = 2000


@dataclass(frozen=True, kw_only=True)
class Curves:
    """What goes with the top k heads of each order, removed together at one tier.

    Attributes:
        tier: where they are removed.
        ks: how many heads the entries of the last axis remove, ascending.
        orders: by the measure that made the order on other items, `CAUSAL` among them: in the
            unit of the metric, intact − edited.
        random: of orders in which each head of the causal one is another of its layer, at random.
        clusters: of these items.
    """

    tier: str
    ks: Sequence[int]
    orders: dict[str, Float[np.ndarray, "item k"]]
    random: Float[np.ndarray, "order item k"]
    clusters: Clusters


@dataclass(frozen=True, kw_only=True)
class Captured:
    """The shares at one tier.

    Attributes:
        curves: one row an order and k: `measure`, `tier`, `k`, `effect` (in the unit of the
            metric), `share`, `share_low`, `share_high`, and `over_raw` with its bounds, the share
            less that of raw attention. `random` has the mean over orders and the 2.5 and 97.5
            percentiles over orders.
        areas: one row an order: `measure`, `tier`, `k_max`, `area` (the mean share over all numbers
            of heads up to it, linear between those that were removed) and `area_over_raw`, both
            with bounds.
    """

    curves: pd.DataFrame
    areas: pd.DataFrame


def captured(found: Curves, *, seed: int) -> Captured:
    """Shares of what the causal order's top k removes, and their means over k.

    Intervals are 95 %, from clusters drawn anew for all orders at once. A k at which what the
    causal order removes is not certainly more than 0 has no share (NaN), and is left out of the
    areas.

    Raises:
        ValueError: there is no causal order or none by raw attention, or see `nothing_to_share`.

    Source: the faithfulness curves of Mueller et al. 2025 (MIB), by number of heads.
    """
    for needed in (CAUSAL, "raw"):
        if needed not in found.orders:
            raise ValueError(
                f"expected an order called {needed!r} among {', '.join(found.orders)}."
            )
    whole = found.orders[CAUSAL]
    if reason := nothing_to_share(found):
        raise ValueError(reason)
    counts = _counts(found)
    k = np.array(found.ks)[counts]
    weights = _weights(k)
    names = list(found.orders)
    parts = np.stack(list(found.orders.values()), axis=1)[:, :, counts]
    shares = drawn_shares(parts, whole[:, counts], found.clusters, n_boot=N_BOOT, seed=seed)
    over_raw = shares - shares[:, [names.index("raw")]]
    share, over = (bounded(each, found.clusters) for each in (shares, over_raw))
    area, area_over = (bounded(each @ weights, found.clusters) for each in (shares, over_raw))
    by_k = [
        pd.DataFrame(
            {
                "measure": name,
                "tier": found.tier,
                "k": k,
                "effect": parts[:, place].mean(axis=0),
                **_columns("share", share.estimate[place], share.low[place], share.high[place]),
                **_columns("over_raw", over.estimate[place], over.low[place], over.high[place]),
            }
        )
        for place, name in enumerate(names)
    ]
    areas = pd.DataFrame(
        {
            "measure": names,
            "tier": found.tier,
            "k_max": k[-1],
            **_columns("area", area.estimate, area.low, area.high),
            **_columns("area_over_raw", area_over.estimate, area_over.low, area_over.high),
        }
    )
    at_random = _random(found, counts)
    return Captured(
        curves=pd.concat([*by_k, at_random.curves], ignore_index=True),
        areas=pd.concat([areas, at_random.areas], ignore_index=True),
    )


def nothing_to_share(found: Curves) -> str:
    """A sentence where what the causal order removes is never certainly more than 0; else empty."""
    if _counts(found).any():
        return ""
    return (
        f"What the heads that lead by effect take away from other items ({found.tier}) is not "
        "certainly more than 0 for any number of heads, so there is nothing to have a share of."
    )


def _counts(found: Curves) -> Bool[np.ndarray, " k"]:
    """The k at which a share can be taken."""
    certain: np.ndarray = mean_interval(found.orders[CAUSAL], found.clusters).low > 0
    return certain


def _random(found: Curves, counts: Bool[np.ndarray, " k"]) -> Captured:
    """The band of random orders: their mean, and where the middle 95 % of them lie."""
    means = found.random.mean(axis=1)[:, counts]
    shares = means / found.orders[CAUSAL].mean(axis=0)[counts]
    k = np.array(found.ks)[counts]
    shares_and_area = np.column_stack([shares, shares @ _weights(k)])
    low, high = np.quantile(shares_and_area, [0.025, 0.975], axis=0)
    middle = shares_and_area.mean(axis=0)
    here = {"measure": RANDOM, "tier": found.tier}
    curves = {
        "k": k,
        "effect": means.mean(axis=0),
        **_columns("share", middle[:-1], low[:-1], high[:-1]),
    }
    areas = {
        "k_max": k[-1:],
        **_columns("area", middle[-1:], low[-1:], high[-1:]),
    }
    return Captured(curves=pd.DataFrame(here | curves), areas=pd.DataFrame(here | areas))


def _weights(ks: Int[np.ndarray, " k"]) -> Float[np.ndarray, " k"]:
    """What each k weighs in the mean over all whole numbers from the first k to the last.

    Values between are linear.
    """
    between = np.arange(ks[0], ks[-1] + 1)
    return np.array([np.interp(between, ks, alone).mean() for alone in np.eye(len(ks))])


def _columns(
    name: str,
    estimate: Float[np.ndarray, " row"],
    low: Float[np.ndarray, " row"],
    high: Float[np.ndarray, " row"],
) -> dict[str, np.ndarray]:
    return {name: estimate, f"{name}_low": low, f"{name}_high": high}
