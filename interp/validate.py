"""Every planted head: what is known of it, against what the toolkit measures."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from interp.behaviour import item_table
from interp.contrast import Thresholds, observations, verdicts
from interp.effects.check import check_against_loop
from interp.effects.engine import intact_metric, sweep
from interp.effects.metrics import LOGIT_DIFFERENCE
from interp.encode import Batch
from interp.evidence import direct_where_defined, gathered
from interp.heads import Head
from interp.measures.relations import chance, relation_scores
from interp.models import Model, load
from interp.models.direct import direct_logit_attribution, head_outputs
from interp.models.record import Record, record
from interp.planted import NAMES, build

EFFECTS = ("everywhere", "query", "edge")
QUANTITIES = (
    *("attention", "cas", *EFFECTS, "zero", "mean", "direct", "norm"),
    "verdict",
    "subtype",
)
COLUMNS = ["model", "head", "role", "quantity", "expected", "measured", "agrees"]


def validate(names: Sequence[str] = NAMES) -> pd.DataFrame:
    """What is known of every head of the planted models, and what the toolkit finds.

    One row a model, head and quantity: `model`, `head`, `role`, `quantity` (as in `Known`),
    `expected`, `measured`, and whether it `agrees`, within the model's tolerance. Expected and
    measured are numbers, or words for the quantities `verdict` and `subtype`. On the way the engine
    is compared with TransformerLens's plain loop, on every head.

    Raises:
        ArithmeticError: the engine and the plain loop disagree.
        ValueError: there is no planted model of a name.
    """
    return pd.concat([_compare(name) for name in names], ignore_index=True)


def measured(model: Model, batch: Batch) -> pd.DataFrame:
    """All quantities of `Known` as the toolkit measures them, a row a head.

    `direct` and `norm` are undefined (NaN) where heads do not add up in the model.
    """
    check_against_loop(model, batch, heads=model.heads)
    recorded = record(model.plain, batch, keep=("z", "value", "pattern"))
    scores, effects = relation_scores(recorded), sweep(model, [batch])
    items = item_table(model, [batch], LOGIT_DIFFERENCE)
    direct, norm = _direct_and_norm(model, recorded)
    even = chance([batch])
    data = observations(scores, effects, items, direct_where_defined(model, [batch]))
    found = gathered(model, [batch], data, Thresholds(), seed=0, chance=even)
    table = verdicts(data, Thresholds(), evidence=found.heads, seed=0, chance=even)
    table = table.rename(columns={"raw": "attention"})
    for tier in EFFECTS:
        table[tier] = data.effects[tier].mean(axis=0)
    z = recorded.z
    table["zero"] = [
        _loss(model, recorded, head, torch.zeros_like(z[head[0]])) for head in data.heads
    ]
    table["mean"] = [
        _loss(model, recorded, head, z[head.layer].mean(0, keepdim=True)) for head in data.heads
    ]
    table["direct"], table["norm"] = direct, norm
    return table[["label", *QUANTITIES]]


def _compare(name: str) -> pd.DataFrame:
    planted, model = build(name), load(f"planted/{name}")
    (batch,) = model.encode(planted.items)
    rows = []
    for head, found in zip(model.heads, measured(model, batch).to_dict("records"), strict=True):
        known = planted.known.get(head, planted.rests)
        for quantity in QUANTITIES:
            expected, value = getattr(known, quantity), found[quantity]
            if expected is None:
                continue
            rows.append(
                {
                    "model": name,
                    "head": head.label,
                    "role": known.role,
                    "quantity": quantity,
                    "expected": expected,
                    "measured": value,
                    "agrees": _agrees(expected, value, planted.tolerance),
                }
            )
    return pd.DataFrame(rows)[COLUMNS]


def _agrees(expected: Any, value: Any, tolerance: float) -> bool:
    if isinstance(expected, str):
        return bool(expected == value)
    return bool(abs(expected - value) <= tolerance)


def _loss(
    model: Model, recorded: Record, head: Head, instead: Float[Tensor, "#item head pos d_head"]
) -> float:
    """What the metric loses when one head gives something else at every position."""
    batch, rows = recorded.batch, torch.arange(len(recorded.batch))

    def edit(layer: int, name: str, tensor: Tensor) -> Tensor:
        if (layer, name) != (head.layer, "z"):
            return tensor
        chosen = torch.arange(tensor.shape[1]) == head.head
        return torch.where(chosen[:, None, None], instead, tensor)

    with torch.inference_mode(), model.plain.hooked(edit):
        logits = model.plain(batch.ids).logits[rows, batch.query]
    edited = LOGIT_DIFFERENCE(logits, batch.answer, batch.foil)
    return (intact_metric(recorded, LOGIT_DIFFERENCE) - edited).mean().item()


def _direct_and_norm(
    model: Model, recorded: Record
) -> tuple[Float[np.ndarray, " head"], Float[np.ndarray, " head"]]:
    """Each head's direct attribution, and the length of what it brings from the source."""
    try:
        direct = direct_logit_attribution(model, recorded.batch).heads
    except ValueError:
        undefined = np.full(len(model.heads), np.nan)
        return undefined, undefined
    from_source = [_from_source(recorded, layer) for layer in range(model.n_layers)]
    written = head_outputs(model, from_source).norm(dim=-1)
    return direct.mean(0).flatten().numpy(), written.mean(0).flatten().numpy()


def _from_source(recorded: Record, layer: int) -> Float[Tensor, "item head d_head"]:
    """`Σ A v` over the source."""
    pattern, value = recorded.pattern[layer], recorded.value[layer]
    weights = pattern * recorded.batch.source[:, None, :]
    shared = pattern.shape[1] // value.shape[1]
    return torch.einsum("ihk,ihkd->ihd", weights, value.repeat_interleave(shared, dim=1))
