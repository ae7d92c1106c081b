"""Does a head bring from the source what stands there, or only that something does?"""

from collections.abc import Sequence

import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor

from interp.effects.given import Given
from interp.effects.scopes import Scope
from interp.encode import Batch
from interp.evidence.resampled import resampled, together
from interp.evidence.taking import Taking, taking
from interp.heads import Head
from interp.models.model import Model


def carried_content(model: Model, batches: Sequence[Batch], heads: Sequence[Head]) -> pd.DataFrame:
    """How much of what a head brings from the source depends on what stands there.

    What it takes from the source at the query is exchanged for what another item has at the same
    places, of the same template and with another answer, its attention as it was; that effect is
    divided by the one of taking nothing from there. One row a head: `layer`, `head`, `content`
    with its 95 % interval `low`, `high`; NaN where that second effect is not told from 0.

    About 0: the same comes from there whatever the word, such as its place. 1: all that it says is
    of the word (another name is as good as none); 2 where the other word speaks for the foil, such
    as a plural for a singular.

    Raises:
        ValueError: there is no head, or an item has no other to exchange with.
    """
    exchanged, nothing = [], []
    for batch in batches:
        other = _others(batch)
        row_of = {item.item_id: row for row, item in enumerate(batch.items)}
        taken = taking(model.plain, batch, {head.layer for head in heads}, everywhere=False)
        source = batch.source[:, None, None].float()
        without = {layer: _z(each, each.own * (1 - source)) for layer, each in taken.items()}
        given = {
            layer: without[layer] + _z(each, each.own * source, other)
            for layer, each in taken.items()
        }
        exchanged.append(
            resampled(
                model, batch, heads, scope=Scope.QUERY,
                baseline=Given(name="another item's source", row_of=row_of, z=given),
            )
        )  # fmt: skip
        nothing.append(
            resampled(
                model, batch, heads, scope=Scope.QUERY,
                baseline=Given(name="nothing from the source", row_of=row_of, z=without),
            )
        )  # fmt: skip
    found = together(exchanged).relative_to(together(nothing))
    return pd.DataFrame(
        {
            "layer": [head.layer for head in heads],
            "head": [head.head for head in heads],
            "content": found["estimate"],
            "low": found["low"],
            "high": found["high"],
        }
    )


def _z(
    taken: Taking,
    weights: Float[Tensor, "item head query key"],
    rows: Int[Tensor, " item"] | None = None,
) -> Float[Tensor, "item query head d_head"]:
    value = taken.value if rows is None else taken.value[rows]
    return torch.einsum("ihqk,ihkd->iqhd", weights, value)


def _others(batch: Batch) -> Int[Tensor, " item"]:
    """For each item another of its template, source at the same places, with another answer.

    One whose answer is neither the item's answer nor its foil, if there is one. They are taken in
    turn, from the item on.
    """
    n_items = len(batch)
    found = torch.empty(n_items, dtype=torch.long)
    for row, item in enumerate(batch.items):
        fits = [
            other
            for other in ((row + step) % n_items for step in range(1, n_items))
            if batch.items[other].template_id == item.template_id
            and torch.equal(batch.source[other], batch.source[row])
            and batch.answer[other] != batch.answer[row]
        ]
        thirds = [other for other in fits if batch.answer[other] != batch.foil[row]]
        if not fits:
            raise ValueError(
                f"no other item of template {item.template_id} has its source where item "
                f"{item.item_id} has it and another answer; give more items."
            )
        found[row] = (thirds or fits)[0]
    return found
