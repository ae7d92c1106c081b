"""How much of the joint effect the leading heads of an order capture, on held-out items."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from jaxtyping import Float

from interp.effects.joint import joint
from interp.encode import Batch
from interp.heads import Head
from interp.models.model import Model

CAUSAL = "causal"
N_BOOT = 2000


def captured(
    model: Model,
    held_out: Sequence[Batch],
    orders: Mapping[str, Sequence[Head]],
    *,
    k_max: int = 20,
    n_random: int = 20,
    seed: int = 0,
    **choices: object,
) -> pd.DataFrame:
    """The held-out share of the joint effect captured by the top k heads of each order.

    The top k of an order are removed together on held-out items, and their effect is divided by
    that of the causal order's top k (ratio of means). One row an order and k: `order`, `k`,
    `effect`, `share`, `low`, `high`: a 95 % interval from a bootstrap over pairs for both sides at
    once. `random` has the mean over orders in which each head of the causal one is replaced by one
    of its layer, drawn at random, and the 2.5 and 97.5 percentiles over these draws.

    Args:
        held_out: items on which no order was made.
        orders: heads by the order's name, first the leading one. `"causal"` must be among them,
            the order by effect on the discovery items.
        choices: as in `joint`: scope, baseline, metric.

    Raises:
        ValueError: there is no causal order, or an order has fewer than `k_max` heads.

    Source: the faithfulness curves of Mueller et al. 2025 (MIB), by number of heads.
    """
    if CAUSAL not in orders:
        raise ValueError(f"expected an order called {CAUSAL!r} among {', '.join(orders)}.")
    for name, order in orders.items():
        if len(set(order[:k_max])) < k_max:
            raise ValueError(f"the order {name!r} has {len(set(order))} heads, expected {k_max}.")
    generator = np.random.default_rng(seed)
    drawn = {
        f"random {number}": _matched(model, orders[CAUSAL][:k_max], generator)
        for number in range(n_random)
    }
    sets = {
        f"{name}/{k}": list(order[:k])
        for name, order in {**orders, **drawn}.items()
        for k in range(1, k_max + 1)
    }
    table = joint(model, held_out, sets, **choices)  # type: ignore[arg-type]
    effect = table.assign(effect=table["intact"] - table["edited"])
    grid = effect.pivot(index="item_id", columns="set", values="effect")
    pair_of = {item.item_id: item.pair_id for batch in held_out for item in batch.items}
    pairs = grid.groupby(grid.index.map(pair_of)).mean()
    weights = _resampled(len(pairs), generator)
    rows = []
    for k in range(1, k_max + 1):
        whole = pairs[f"{CAUSAL}/{k}"].to_numpy()
        for name in orders:
            part = pairs[f"{name}/{k}"].to_numpy()
            low, high = np.quantile((weights @ part) / (weights @ whole), [0.025, 0.975])
            rows.append((name, k, part.mean(), part.mean() / whole.mean(), low, high))
        if drawn:
            means = np.array([pairs[f"{name}/{k}"].mean() for name in drawn])
            low, high = np.quantile(means / whole.mean(), [0.025, 0.975])
            rows.append(("random", k, means.mean(), means.mean() / whole.mean(), low, high))
    columns = ["order", "k", "effect", "share", "low", "high"]
    return pd.DataFrame(rows, columns=columns).sort_values(["order", "k"], ignore_index=True)


def area(curves: pd.DataFrame) -> "pd.Series[float]":
    """The mean share over k, by order: 1 for the causal one."""
    return curves.groupby("order")["share"].mean()


def _matched(model: Model, order: Sequence[Head], generator: np.random.Generator) -> list[Head]:
    """For each head another draw from its layer, none twice."""
    left = {layer: list(generator.permutation(model.n_heads)) for layer in {h.layer for h in order}}
    return [Head(head.layer, int(left[head.layer].pop())) for head in order]


def _resampled(n_pairs: int, generator: np.random.Generator) -> Float[np.ndarray, "draw pair"]:
    return generator.multinomial(n_pairs, np.full(n_pairs, 1 / n_pairs), size=N_BOOT) / n_pairs
