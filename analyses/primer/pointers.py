"""Rows of attention made pointers or plain means, and what that costs, head by head."""

from dataclasses import replace
from enum import StrEnum
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from analyses.primer.claim import Setting
from analyses.primer.rule import Estimate
from analyses.primer.texts import next_token_losses, passages
from interp.effects import LOGIT_DIFFERENCE, sweep
from interp.effects.given import Given
from interp.encode import Batch
from interp.evidence.removal import clusters_of
from interp.heads import Head
from interp.hooks.edges import is_allowed
from interp.models import Model
from interp.models.plain import Attend, Call, attend
from interp.stats import ratio_interval
from interp.tasks import build

MATTERS = 0.02
"""Of the gap, and on prose in nats: an exchange costs from here on, and costs nothing that is shown
to cost less."""


class Kind(StrEnum):
    """What a head is in effect, where it matters at all."""

    POINTER = "pointer: the largest weight alone will do"
    MEAN = "mean: an even row will do"
    BLEND = "blend: neither will do"
    UNDECIDED = "undecided"
    EITHER = "either will do"


def pointer(call: Call) -> Tensor:
    """Attention in which each row gives all to its largest weight."""

    def hook(name: str, tensor: Tensor) -> Tensor:
        if name != "pattern":
            return tensor
        return torch.zeros_like(tensor).scatter(-1, tensor.argmax(-1, keepdim=True), 1.0)

    return attend(replace(call, options={**call.options, "hook": hook}))


def even(call: Call) -> Tensor:
    """Attention in which each row gives the same to all that it may see."""

    def hook(name: str, tensor: Tensor) -> Tensor:
        return tensor.masked_fill(is_allowed(tensor), 0.0) if name == "scores" else tensor

    return attend(replace(call, options={**call.options, "hook": hook}))


CHANGED: dict[str, Attend] = {"pointer": pointer, "mean": even}


def exchanged(model: Model, task: str, n_pairs: int, setting: Setting) -> pd.DataFrame:
    """What a task loses when a head's row at the query is a pointer or a mean, head by head.

    One row a head: `task, layer, head, label`; as shares of the gap `pointer` and `mean`, each with
    its 95 % interval `…_low`, `…_high`; and the `kind` that follows. The pairs are not those of the
    committed run, whose seed is another.
    """
    items = build(task, model.tokenizer, n_pairs=n_pairs, seed=setting.seed + 1)
    batches = model.encode(items)
    order = [item for batch in batches for item in batch.items]
    place = {item.item_id: number for number, item in enumerate(order)}
    clusters, gap = clusters_of(order), np.zeros(len(order))
    columns: dict[str, object] = {}
    for name in CHANGED:
        effect = np.zeros((len(order), len(model.heads)))
        for batch in batches:
            found = sweep(
                model,
                [batch],
                scopes=["query"],
                baseline=_given(model, batch, name),
                metric=LOGIT_DIFFERENCE,
                progress=setting.progress,
            )
            items_first = found.sort_values(["layer", "head"], kind="stable")
            at = items_first["item_id"].iloc[: len(batch)].map(place).to_numpy()
            change = (items_first["intact"] - items_first["edited"]).to_numpy()
            effect[at] = change.reshape(len(model.heads), len(batch)).T
            gap[at] = (items_first["intact"] - items_first["corrupt"]).to_numpy()[: len(batch)]
        share = ratio_interval(effect, gap, clusters)
        columns |= {name: share.estimate, f"{name}_low": share.low, f"{name}_high": share.high}
    result = pd.DataFrame(
        {
            "task": task,
            "layer": [head.layer for head in model.heads],
            "head": [head.head for head in model.heads],
            "label": [head.label for head in model.heads],
            **columns,
        }
    )
    return result.assign(kind=[kind(row) for row in result.to_dict("records")])


def exchanged_on_prose(
    model: Model, *, n_texts: int, n_tokens: int, each_head: bool
) -> pd.DataFrame:
    """What the loss on prose rises by when all rows of a head, or of a layer's, are exchanged.

    The columns of `exchanged` but for the task, in nats; `head` is −1 where it is the whole layer.

    Raises:
        RuntimeError: a whole layer was exchanged, and no loss changed at all.
    """
    ids = passages(model, n_texts=n_texts, n_tokens=n_tokens)
    intact = next_token_losses(model, ids)
    rows: list[dict[str, Any]] = []
    for layer, head in [(layer, None) for layer in range(model.n_layers)] + [
        (head.layer, head.head) for head in model.heads if each_head
    ]:
        row: dict[str, Any] = {"layer": layer, "head": -1 if head is None else head}
        row["label"] = f"L{layer}" if head is None else Head(layer, head).label
        for name, changed in CHANGED.items():
            losses = next_token_losses(model, ids, in_some(changed, layer, head))
            if head is None and np.array_equal(losses, intact):
                raise RuntimeError(
                    f"exchanging all rows of layer {layer} for a {name} changed no loss; the "
                    "exchange did not reach the model."
                )
            cost = Estimate.mean(losses - intact)
            row |= {name: cost.value, f"{name}_low": cost.low, f"{name}_high": cost.high}
        rows.append(row | {"kind": kind(row)})
    return pd.DataFrame(rows)


def in_some(changed: Attend, layer: int, head: int | None) -> Attend:
    """Attention that is changed in one layer alone, in one of its heads or in all."""

    def attending(call: Call) -> Tensor:
        if call.layer != layer:
            return attend(call)
        if head is None:
            return changed(call)
        z = attend(call).clone()
        z[:, head] = changed(call)[:, head]
        return z

    return attending


def kind(row: dict[str, float]) -> Kind:
    """What a head is in effect, from what the two exchanges cost.

    A cost counts when its interval lies beyond `MATTERS` on either side of 0, and is none when it
    lies within; between the two the head is undecided.
    """
    costs = {name: _cost(row[f"{name}_low"], row[f"{name}_high"]) for name in CHANGED}
    match costs["pointer"], costs["mean"]:
        case False, False:
            return Kind.EITHER
        case True, True:
            return Kind.BLEND
        case False, True:
            return Kind.POINTER
        case True, False:
            return Kind.MEAN
        case _:
            return Kind.UNDECIDED


def _cost(low: float, high: float) -> bool | None:
    if low > MATTERS or high < -MATTERS:
        return True
    return False if low >= -MATTERS and high <= MATTERS else None


def _given(model: Model, batch: Batch, name: str) -> Given:
    """Each head's output at the query with its row there exchanged, what stands below intact."""
    rows = torch.arange(len(batch))
    z: dict[int, Float[Tensor, "item 1 head d_head"]] = {}

    def keep(call: Call) -> Tensor:
        z[call.layer] = CHANGED[name](call)[rows, :, batch.query][:, None]
        return attend(call)

    with torch.inference_mode(), model.plain.attending(keep):
        model.plain.states(batch.ids)
    row_of = {item.item_id: row for row, item in enumerate(batch.items)}
    return Given(name=name, row_of=row_of, z=z)
