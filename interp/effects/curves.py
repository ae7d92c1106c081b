"""What goes with the leading heads of several orders, removed together, one more at a time."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float

from interp.effects.joint import joint
from interp.encode import Batch
from interp.heads import Head
from interp.models.model import Model


def joint_curves(
    model: Model,
    batches: Sequence[Batch],
    orders: Mapping[str, Sequence[Head]],
    *,
    ks: Sequence[int],
    **choices: object,
) -> dict[str, Float[np.ndarray, "item k"]]:
    """The effect, intact − edited, of removing the top k heads of each order together.

    By the order's name; items in the order of the batches. Orders that begin with the same heads,
    in whatever sequence, share what is computed.

    Args:
        orders: heads by the order's name, first the leading one.
        ks: how many heads are removed.
        choices: as in `joint`: scope, baseline, metric.

    Raises:
        ValueError: an order has too few heads, or see `joint`.
    """
    for name, order in orders.items():
        if len(set(order[: max(ks)])) < max(ks):
            raise ValueError(f"the order {name!r} has {len(set(order))} heads, expected {max(ks)}.")
    tops = {name: [frozenset(order[:k]) for k in ks] for name, order in orders.items()}
    distinct = dict.fromkeys(heads for of_order in tops.values() for heads in of_order)
    names = {heads: str(number) for number, heads in enumerate(distinct)}
    sets = {name: sorted(heads) for heads, name in names.items()}
    table = joint(model, batches, sets, **choices)  # type: ignore[arg-type]
    effect = table.assign(effect=table["intact"] - table["edited"])
    item_ids = [item.item_id for batch in batches for item in batch.items]
    grid = effect.pivot(index="item_id", columns="set", values="effect").loc[item_ids]
    return {
        name: grid[[names[heads] for heads in of_order]].to_numpy(float)
        for name, of_order in tops.items()
    }


def matched_order(
    order: Sequence[Head], n_heads: int, generator: np.random.Generator
) -> list[Head]:
    """For each head of an order one of its layer, drawn at random, none twice.

    Args:
        n_heads: of a layer.
    """
    left = {layer: list(generator.permutation(n_heads)) for layer in {h.layer for h in order}}
    return [Head(head.layer, int(left[head.layer].pop())) for head in order]
