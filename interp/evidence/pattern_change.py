"""Whose attention does a head change? The later head that looks elsewhere once it is removed."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from interp.effects.scopes import Scope, edge_keys, edited_positions
from interp.encode import Batch
from interp.evidence.removal import clusters_of
from interp.heads import Head, all_heads
from interp.models.model import Model
from interp.stats import max_t, mean_interval

_ROUNDING = 1e-6


def pattern_change(
    model: Model, batches: Sequence[Batch], heads: Sequence[Head], *, scope: Scope, seed: int
) -> pd.DataFrame:
    """The later head whose attention from query to source changes most when a head is resampled.

    One row a head: `layer`, `head`, `of` (the label of that later head; empty where no head is
    above), `attention` (its own to the source, intact), `change` (after the removal less before)
    with its 95 % interval `low`, `high`, and `p`: max-T, adjusted for every later head
    and every head asked about. A change at `Scope.QUERY` is one of what the query looks for; one
    that is seen everywhere alone can also be of what the keys offer.

    Args:
        scope: where the head is given what it gives in the counterfactual: `everywhere` or `query`.

    Raises:
        ValueError: there is no head, an item names no source, or the scope is another one.
    """
    if not heads:
        raise ValueError("expected at least one head whose influence to look at, got none.")
    if scope not in (Scope.EVERYWHERE, Scope.QUERY):
        raise ValueError(
            f"a head is removed everywhere or at the query to see which patterns change, got "
            f"{str(scope)!r}."
        )
    intact = np.concatenate([_to_source(model, batch, None, scope) for batch in batches])
    changes = np.stack(
        [
            np.concatenate([_to_source(model, batch, head, scope) for batch in batches]) - intact
            for head in heads
        ],
        axis=1,
    )
    later = all_heads(model.n_layers, model.n_heads)
    is_later = np.array([[other.layer > head.layer for other in later] for head in heads])
    changes = np.where(is_later & (np.abs(changes) > _ROUNDING), changes, 0.0)
    clusters = clusters_of([item for batch in batches for item in batch.items])
    interval = mean_interval(changes, clusters)
    p_value = max_t(changes, clusters, seed=seed).p_value
    most = np.abs(interval.estimate).argmax(1)
    rows: list[tuple[object, ...]] = []
    for place, (head, other) in enumerate(zip(heads, most, strict=True)):
        if not is_later[place].any():
            rows.append((head.layer, head.head, "", *[np.nan] * 5))
            continue
        columns_of = (interval.estimate, interval.low, interval.high, p_value)
        found = [each[place, other] for each in columns_of]
        attention = intact[:, other].mean()
        rows.append((head.layer, head.head, later[other].label, attention, *found))
    columns = ["layer", "head", "of", "attention", "change", "low", "high", "p"]
    return pd.DataFrame(rows, columns=columns)


def _to_source(
    model: Model, batch: Batch, removed: Head | None, scope: Scope
) -> Float[np.ndarray, "item head"]:
    """Attention of every head from query to source, in the run without a head."""
    edge_keys(Scope.EDGE, batch)  # an error for an item that names no source
    rows, device = torch.arange(len(batch)), model.plain.module.device
    where = edited_positions(scope, batch)[:, :, None].to(device)
    source = batch.source[:, None].to(device)
    given = None if removed is None else _z(model, batch, removed)[batch.donor]
    masses: list[Tensor] = []

    def edit(layer: int, name: str, tensor: Tensor) -> Tensor:
        if name == "pattern":
            masses.append((tensor[rows, :, batch.query] * source).sum(-1).cpu())
        if removed is None or given is None or (layer, name) != (removed.layer, "z"):
            return tensor
        edited = tensor.clone()
        edited[:, removed.head] = torch.where(where, given, tensor[:, removed.head])
        return edited

    with torch.inference_mode(), model.plain.hooked(edit):
        model.plain.states(batch.ids.to(device))
    return torch.cat(masses, dim=1).double().numpy()


def _z(model: Model, batch: Batch, head: Head) -> Float[Tensor, "item pos d_head"]:
    seen: list[Tensor] = []

    def keep(layer: int, name: str, tensor: Tensor) -> Tensor:
        if (layer, name) == (head.layer, "z"):
            seen.append(tensor[:, head.head].clone())
        return tensor

    with torch.inference_mode(), model.plain.hooked(keep):
        model.plain.states(batch.ids.to(model.plain.module.device))
    (z,) = seen
    return z
