"""What later heads say once a head is removed, and would not say with it there."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from interp.effects.ascent import ascend
from interp.effects.baselines import Baseline, require_disjoint
from interp.effects.engine import singles
from interp.effects.pieces import limits, pieces
from interp.effects.scopes import AnyScope
from interp.encode import Batch
from interp.heads import Head
from interp.models.direct import value_readings
from interp.models.model import Model
from interp.models.record import record
from interp.models.routes import route


def direct_rises(
    model: Model,
    batches: Sequence[Batch],
    heads: Sequence[Head],
    *,
    scope: AnyScope,
    baseline: Baseline,
) -> Float[np.ndarray, "item removed layer head"]:
    """How much more every head says to the logits at the query once each of `heads` is removed.

    In logits, answer less foil, through the final norm at its intact scale, so that a norm which
    rescales is no rise. Items in the order of the batches. Of the removed head itself, its layer
    and the layers below, nothing is said: 0.

    Raises:
        ValueError: heads do not add up to the logits in this model, its layers cannot be run one
            by one, or see `sweep`.
    """
    found = route(model.plain)
    if not found.by_layers:
        raise ValueError(
            f"what later heads say is read layer by layer, and {model.name} is run whole "
            f"({found.reason}); backups are not looked for in this model."
        )
    return np.concatenate([_of_batch(model, b, heads, scope, baseline) for b in batches])


def _of_batch(
    model: Model, batch: Batch, heads: Sequence[Head], scope: AnyScope, baseline: Baseline
) -> Float[np.ndarray, "item removed layer head"]:
    require_disjoint(baseline, batch)
    within = limits(model.plain, None)
    readings = value_readings(record(model.plain, batch, keep=()))
    rises = torch.zeros(len(batch), len(heads), model.n_layers, model.n_heads)
    sets = singles(model, heads)
    everything = torch.arange(len(batch))
    for piece in pieces(model.plain, batch, everything, scope, baseline, len(sets) + 1, within):
        for some in torch.split(torch.arange(len(sets)), max(1, piece.n_variants - 1)):
            into = _Rises(rises, piece.work.items, some, readings)
            ascend(
                piece.work,
                torch.cat([torch.zeros_like(sets[:1]), sets[some]]),
                rows_a_batch=within.rows_a_batch,
                watch=into.watch,
            )
    return _above(rises, heads).numpy()


class _Rises:
    """Fills in some items and some removed heads; the first variant is the intact run."""

    def __init__(
        self,
        rises: Float[Tensor, "item removed layer head"],
        items: Int[Tensor, " some_item"],
        removed: Int[Tensor, " some_removed"],
        readings: list[Float[Tensor, "item head d_head"]],
    ) -> None:
        self._rises, self._items, self._removed, self._readings = rises, items, removed, readings
        self._intact = torch.empty(0)

    def watch(
        self,
        layer: int,
        variants: Int[Tensor, " some"],
        z: Float[Tensor, "some some_item head d_head"],
    ) -> None:
        reading = self._readings[layer][self._items]
        said = torch.einsum("vihd,ihd->ivh", z, reading).cpu()
        if int(variants[0]) == 0:  # the intact run is born first, and comes first in every layer
            self._intact = said[:, :1]
            said, variants = said[:, 1:], variants[1:]
        columns = self._removed[variants - 1]
        self._rises[self._items[:, None], columns, layer] = said - self._intact


def _above(
    rises: Float[Tensor, "item removed layer head"], heads: Sequence[Head]
) -> Float[Tensor, "item removed layer head"]:
    layer = torch.arange(rises.shape[2])
    is_above: Bool[Tensor, "removed layer"] = (
        layer > torch.tensor([h.layer for h in heads])[:, None]
    )
    return rises * is_above[:, :, None]
