"""Removals cut into parts: each some items and some sets of heads, a function of what it says.

Items are cut first: pairs stay together, and beside those with which they share prefixes. Where a
single pair is still much work, the sets are cut, those together that begin in the same layers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from interp.effects.ascent import ascend
from interp.effects.baselines import Baseline
from interp.effects.digest import digest
from interp.effects.metrics import Metric
from interp.effects.pieces import Limits, pieces
from interp.effects.plain_loop import looped_logits
from interp.effects.readings import read
from interp.effects.scopes import AnyScope, edited_positions
from interp.encode import Batch
from interp.heads import Head
from interp.models.model import Model
from interp.models.routes import route
from interp.progress import Advance
from interp.shards import Result

MOST_AGAIN = 0.1
"""The intact run is done again in each part; sets are cut as far as that adds this share."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Removals:
    """What is measured: sets of heads removed from the items of one batch.

    Attributes:
        sets: which heads each variant removes.
    """

    batch: Batch
    scope: AnyScope
    baseline: Baseline
    metrics: tuple[Metric, ...]
    sets: Bool[Tensor, "variant layer head"]

    @cached_property
    def key(self) -> str:
        """A hash of all that this says."""
        return digest(self)


@dataclass(frozen=True, eq=False, kw_only=True)
class Part:
    """Some variants on some items.

    Attributes:
        of: what is measured.
        weights: of the model that is meant, a hash and the dtype.
        variants, items: which of them.
        within: what may be held at once.
        cost: layers that its variants run.
    """

    of: Removals
    weights: tuple[str, str]
    variants: Int[Tensor, " some"]
    items: Int[Tensor, " item"]
    within: Limits
    cost: int

    @property
    def key(self) -> str:
        """A hash of all that decides the values."""
        return digest([self.of.key, self.weights, self.variants, self.items, self.within])

    def result(self, model: Model, *, advance: Advance = lambda cost: None) -> Result:
        """`edited` [metric variant item], `intact` and `corrupt` [metric item].

        Raises:
            ValueError: the model is not the one that is meant, or see `sweep`.
        """
        if self.weights != (model.weights_hash, model.dtype):
            raise ValueError(
                f"{model.name} is here another model than where the run was begun (weights "
                f"{model.weights_hash[:12]}, {model.dtype}, expected {self.weights[0][:12]}, "
                f"{self.weights[1]}); put the same files on every machine."
            )
        by_layers = route(model.plain).by_layers
        values = _by_layers(self, model, advance) if by_layers else _looped(self, model, advance)
        return {name: each.numpy() for name, each in values.items()}


def parts(model: Model, removals: Removals, within: Limits, *, cost: int) -> list[Part]:
    """All variants on all items, each once.

    Args:
        cost: of a part, about, in multiplications by weights.
    """
    n_layers, sets = model.n_layers, removals.sets
    layers_run = n_layers - sets.any(2).int().argmax(1)
    weights = _weights_a_layer(model)
    rows = _rows(model, removals)
    chunks = [torch.arange(len(removals.batch))]
    if route(model.plain).by_layers:
        whole = int(rows.sum()) * int(layers_run.sum()) * weights
        chunks = _pairs_together(removals.batch, -(-whole // cost))
    found = []
    for items in chunks:
        again = int(removals.batch.query[items].sum() + len(items)) * n_layers * weights
        of_chunk = int(rows[items].sum()) * int(layers_run.sum()) * weights
        n_blocks = of_chunk // max(cost, round(again / MOST_AGAIN))
        found += [
            Part(
                of=removals,
                weights=(model.weights_hash, model.dtype),
                variants=variants,
                items=items,
                within=within,
                cost=int(layers_run[variants].sum()) * len(items),
            )
            for variants in _equal_blocks(layers_run, max(1, n_blocks))
        ]
    return found


def _by_layers(part: Part, model: Model, advance: Advance) -> dict[str, Tensor]:
    of, plain, n_items = part.of, model.plain, len(part.items)
    place = torch.full((len(of.batch),), -1)
    place[part.items] = torch.arange(n_items)
    n_metrics, n_variants = len(of.metrics), len(part.variants)
    edited = torch.empty(n_metrics, n_variants, n_items)
    intact, corrupt = torch.empty(n_metrics, n_items), torch.empty(n_metrics, n_items)
    sets = of.sets[part.variants]
    cut = pieces(plain, of.batch, part.items, of.scope, of.baseline, n_variants, part.within)
    for piece in cut:
        items, here = piece.work.items, place[piece.work.items]
        for some in torch.split(torch.arange(n_variants), piece.n_variants):
            states, last = ascend(
                piece.work,
                sets[some],
                rows_a_batch=part.within.rows_a_batch,
                advance=partial(_advance_items, advance, len(items)),
            )
            before = last[piece.work.intact]
            values = read(plain, of.metrics, states, before, of.batch, items)
            edited[:, some[:, None], here] = values
        both = torch.stack([before, last[piece.work.corrupt]])
        values = read(plain, of.metrics, both, before, of.batch, items)
        intact[:, here], corrupt[:, here] = values[:, 0], values[:, 1]
    return {"edited": edited, "intact": intact, "corrupt": corrupt}


def _looped(part: Part, model: Model, advance: Advance) -> dict[str, Tensor]:
    """One forward a variant, through TransformerLens, where no layer can be run by itself."""
    of, batch = part.of, part.of.batch
    nothing = looped_logits(model, batch, [], of.scope, of.baseline)

    def values(logits: Tensor) -> Tensor:
        found = [metric(logits, batch.answer, batch.foil, nothing) for metric in of.metrics]
        return torch.stack(found)[:, part.items]

    edited = []
    for removed in of.sets[part.variants]:
        heads = [Head(*pair) for pair in removed.nonzero().tolist()]
        edited.append(values(looped_logits(model, batch, heads, of.scope, of.baseline)))
        advance(part.cost // len(part.variants))
    return {
        "edited": torch.stack(edited, dim=1),
        "intact": values(nothing),
        "corrupt": values(nothing[batch.donor]),
    }


def _advance_items(advance: Advance, n_items: int, n_layers: int) -> None:
    advance(n_layers * n_items)


def _weights_a_layer(model: Model) -> int:
    """How many weights a row is multiplied by in a layer."""
    layers = model.plain.anatomy.layers
    return sum(each.numel() for layer in layers for each in layer.parameters()) // len(layers)


def _rows(model: Model, removals: Removals) -> Int[Tensor, " item"]:
    """How many rows of each item an edit reaches: an upper bound, prefixes not shared."""
    batch = removals.batch
    if not route(model.plain).shares_prefixes:
        return torch.full((len(batch),), batch.ids.shape[1])
    places = edited_positions(removals.scope, batch)
    donors = removals.baseline.donors(batch)
    if donors is not None:  # before the first difference a donor gives what is there
        places = places & (batch.ids != batch.ids[donors]).cumsum(1).bool()
    first = torch.where(places.any(1), places.int().argmax(1), batch.query)
    return (batch.query + 1 - first).clamp(min=1)


def _pairs_together(batch: Batch, n_chunks: int) -> list[Int[Tensor, " item"]]:
    """Items in chunks of whole pairs, in the order of their tokens, so that prefixes are shared."""
    order = np.lexsort(batch.ids.numpy().T[::-1])
    place = np.empty(len(order), dtype=int)
    place[order] = np.arange(len(order))
    pair_of = np.minimum(place, place[batch.donor.numpy()])
    pairs = sorted({*pair_of.tolist()})
    chunks = np.array_split(pairs, min(n_chunks, len(pairs)))
    return [torch.from_numpy(np.flatnonzero(np.isin(pair_of, chunk))) for chunk in chunks]


def _equal_blocks(
    layers_run: Int[Tensor, " variant"], n_blocks: int
) -> Sequence[Int[Tensor, " some"]]:
    """Variants in order of the layer in which they begin, in blocks of about equal cost."""
    order = layers_run.argsort(descending=True, stable=True)
    cost = layers_run[order].cumsum(0)
    block = (cost - 1) * min(n_blocks, len(order)) // cost[-1]
    return [order[block == number] for number in sorted({*block.tolist()})]
