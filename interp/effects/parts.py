"""Removals cut into parts: each some items and some sets of heads, a function of what it says.

Items are cut first: pairs stay together, and beside those with which they share prefixes. Where
that would lose what is shared, or a single pair is still much work, the sets are cut, those
together that begin in the same layers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from interp.effects.ascent import ascend
from interp.effects.baselines import Baseline
from interp.effects.digest import digest
from interp.effects.metrics import Metric
from interp.effects.pieces import Limits, pieces
from interp.effects.plain_loop import looped_logits
from interp.effects.readings import read
from interp.effects.scopes import AnyScope
from interp.effects.spans import Spans, at_nodes, spans_read
from interp.effects.work import Work, prepare
from interp.encode import Batch
from interp.heads import Head
from interp.models.model import Model
from interp.models.routes import route
from interp.progress import Advance
from interp.shards import Result

MOST_LOST = 0.03
"""Items are halved as long as that adds at most this share of rows, of prefixes shared before."""
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
        words = spans_read(model.plain, self.of.metrics, self.of.batch)
        if route(model.plain).by_layers:
            values = _by_layers(self, model, words, advance)
        else:
            values = _looped(self, model, advance)
        return {name: each.numpy() for name, each in values.items()}


def parts(model: Model, removals: Removals, within: Limits, *, cost: int) -> list[Part]:
    """All variants on all items, each once.

    Args:
        cost: of a part, about, in multiplications by weights.
    """
    n_layers, sets = model.n_layers, removals.sets
    layers_run = n_layers - sets.any(2).int().argmax(1)
    in_layer = _weights_a_layer(model)
    found = []
    for chunk in _chunks(model, removals, within, cost / (int(layers_run.sum()) * in_layer)):
        of_chunk = chunk.n_rows * int(layers_run.sum()) * in_layer
        again = chunk.n_nodes * n_layers * in_layer
        n_blocks = int(of_chunk / max(cost, again / MOST_AGAIN))
        found += [
            Part(
                of=removals,
                weights=(model.weights_hash, model.dtype),
                variants=variants,
                items=chunk.items,
                within=within,
                cost=int(layers_run[variants].sum()) * len(chunk.items),
            )
            for variants in _equal_blocks(layers_run, max(1, n_blocks))
        ]
    return found


class _Chunk(NamedTuple):
    """Some items, the rows that a variant runs again for them, and those of the intact run."""

    items: Int[Tensor, " item"]
    n_rows: int
    n_nodes: int


def _chunks(model: Model, removals: Removals, within: Limits, most_rows: float) -> Sequence[_Chunk]:
    """Items in halves of halves until there are few enough rows, as far as prefixes stay shared."""
    batch, shares = removals.batch, route(model.plain).shares_prefixes
    pair_of, pairs = _pairs(batch)

    def chunk(some: Sequence[int]) -> _Chunk:
        items = torch.from_numpy(np.flatnonzero(np.isin(pair_of, some)))
        work = prepare(
            model.plain, batch, removals.scope, removals.baseline, items,
            shares=shares, rows_a_batch=within.rows_a_batch,
        )  # fmt: skip
        return _Chunk(items, work.n_rows, len(work.start.grown))

    def cut(some: Sequence[int], whole: _Chunk) -> list[_Chunk]:
        middle = len(some) // 2
        if whole.n_rows <= most_rows or not middle:
            return [whole]
        halves = [(half, chunk(half)) for half in (some[:middle], some[middle:])]
        if sum(half.n_rows for _, half in halves) > (1 + MOST_LOST) * whole.n_rows:
            return [whole]
        return [each for half in halves for each in cut(*half)]

    n_tokens = batch.ids.numel()
    if n_tokens <= most_rows or not route(model.plain).by_layers:  # a whole forward takes them all
        return [_Chunk(torch.arange(len(batch)), n_tokens, n_tokens)]
    return cut(pairs, chunk(pairs))


def _by_layers(
    part: Part, model: Model, words: Spans | None, advance: Advance
) -> dict[str, Tensor]:
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
        own = None if words is None else words[items]
        for some in torch.split(torch.arange(n_variants), piece.n_variants):
            states, last = ascend(
                piece.work,
                sets[some],
                rows_a_batch=part.within.rows_a_batch,
                words=own,
                advance=partial(_advance_items, advance, len(items)),
            )
            before, instead = _unedited(piece.work, last, own)
            values = read(plain, of.metrics, states, before, of.batch, items)
            edited[:, some[:, None], here] = values
        both = torch.stack([before, instead])
        values = read(plain, of.metrics, both, before, of.batch, items)
        intact[:, here], corrupt[:, here] = values[:, 0], values[:, 1]
    return {"edited": edited, "intact": intact, "corrupt": corrupt}


def _unedited(
    work: Work, last: Float[Tensor, "node d_model"], words: Spans | None
) -> tuple[Float[Tensor, "item *word d_model"], Float[Tensor, "item *word d_model"]]:
    """What is read of each item in the intact run, and of its counterfactual at the same words."""
    if words is None:
        return last[work.intact], last[work.corrupt]
    query = work.batch.query.to(work.intact.device)
    mine = work.intact - query[work.items]
    partner = work.corrupt - query[work.batch.donor[work.items]]
    return at_nodes(last, mine, words), at_nodes(last, partner, words)


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


def _pairs(batch: Batch) -> tuple[Int[np.ndarray, " item"], list[int]]:
    """The pair of each item, and all pairs, in the order of the tokens of their first item."""
    order = np.lexsort(batch.ids.numpy().T[::-1])
    place = np.empty(len(order), dtype=int)
    place[order] = np.arange(len(order))
    pair_of = np.minimum(place, place[batch.donor.numpy()])
    return pair_of, sorted({*pair_of.tolist()})


def _equal_blocks(
    layers_run: Int[Tensor, " variant"], n_blocks: int
) -> Sequence[Int[Tensor, " some"]]:
    """Variants in order of the layer in which they begin, in blocks of about equal cost."""
    order = layers_run.argsort(descending=True, stable=True)
    cost = layers_run[order].cumsum(0)
    block = (cost - 1) * min(n_blocks, len(order)) // cost[-1]
    return [order[block == number] for number in sorted({*block.tolist()})]
