"""Every head's effect to first order, from one backward pass: for screening, never as a result."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from interp.effects.ascent import taken_over_edge
from interp.effects.baselines import Baseline, Mean, PositionMean, Renormalised
from interp.effects.metrics import Metric
from interp.effects.pieces import ROWS_A_BATCH
from interp.effects.scopes import AnyScope, edge_keys, edited_positions, is_edge
from interp.effects.work import Work, prepare
from interp.encode import Batch
from interp.models.memory import bytes_a_row, default_budget
from interp.models.model import Model
from interp.models.plain import Call, attend
from interp.models.record import Record, record
from interp.models.routes import route
from interp.models.rows import Stored, as_lanes, by_row
from interp.models.walk import Layer, walk


def attribute(
    model: Model, batch: Batch, scope: AnyScope, baseline: Baseline, metric: Metric
) -> Float[Tensor, "item layer head"]:
    """`Σ (z − z′) · ∂m/∂z`, an estimate of `intact − edited`, the gradient on the intact run.

    z′ is what the baseline puts in, and the sum is over the positions of the scope. A gradient is
    blind to saturation, as of a softmax, and to heads that make up for one another.

    Raises:
        ValueError: the metric's gradient at the intact run is 0 by construction, the model's
            logits are made by more than an unembedding, or the edit has no derivative.

    Source: attribution patching, Nanda 2023; Syed et al. 2023, arXiv:2310.10348.
    """
    (found,) = attributions(model, batch, [scope], baseline, metric)
    return found


def attributions(
    model: Model, batch: Batch, scopes: Sequence[AnyScope], baseline: Baseline, metric: Metric
) -> list[Float[Tensor, "item layer head"]]:
    """What `attribute` gives at several scopes, from the same gradient.

    Raises:
        ValueError: as `attribute`.
    """
    _require_slope(model, baseline, metric)
    edge = any(is_edge(scope) for scope in scopes)
    kept = record(model.plain, batch, keep=("z", "value", "pattern") if edge else ("z",))
    places = [edited_positions(scope, batch) for scope in scopes]
    parts: list[list[Tensor]] = [[] for _ in scopes]
    for items in torch.split(torch.arange(len(batch)), _n_at_once(model, batch)):
        gradients = _gradients(model, batch, items, metric)
        for scope, marked, of_scope in zip(scopes, places, parts, strict=True):
            by_layer = []
            for layer, gradient in enumerate(gradients):
                change = _change(kept, layer, batch, scope, baseline, items)
                products = (change * gradient).sum(-1)
                here = marked[items][:, None].to(products.device)
                by_layer.append((products * here).sum(-1))
            of_scope.append(torch.stack(by_layer, dim=1))
    return [torch.cat(of_scope).cpu() for of_scope in parts]


def mean_attribution(
    model: Model, batch: Batch, scope: AnyScope, baseline: Baseline, metric: Metric
) -> Float[Tensor, "layer head"]:
    """The mean over items of what `attribute` gives, where only that is wanted.

    The gradient of the sum over items is taken, so that one row serves all prompts that share a
    prefix and are given the same there; and only rows that an edit can change are run.

    Raises:
        ValueError: as `attribute`.
    """
    _require_slope(model, baseline, metric)
    if not route(model.plain).by_layers:
        return attribute(model, batch, scope, baseline, metric).mean(0)
    # prompts that share prefixes stand together
    order = torch.from_numpy(np.lexsort(batch.ids.numpy().T[::-1]))
    total = torch.zeros(model.n_layers, model.n_heads)
    for items in torch.split(order, _n_at_once(model, batch)):
        work = prepare(
            model.plain, batch, scope, baseline, items,
            shares=route(model.plain).shares_prefixes, rows_a_batch=ROWS_A_BATCH,
        )  # fmt: skip
        total += _summed(model, work, metric)
    return total / len(batch)


def _summed(model: Model, work: Work, metric: Metric) -> Float[Tensor, "layer head"]:
    """Over the items of a piece of work, from one way up and one down."""
    template, rows = work.start.template, work.rows
    hidden = work.start.embedded[rows.nodes]
    seen: list[Tensor] = []
    changes: list[Tensor] = []
    for layer in walk(work.start):
        stored = rows.gathered(layer.stored)

        def keep(call: Call, layer: Layer = layer, stored: list[Stored] = stored) -> Tensor:
            z = rows.attend(replace(call, layer=layer.index), template, stored)
            if not z.requires_grad:
                z = z.detach().requires_grad_()
            seen.append(z)
            return z

        with torch.enable_grad():
            lanes = as_lanes(hidden[None], rows)
            hidden = template.run_layer(layer.index, lanes, keep, rows=rows.positions).flatten(0, 1)
        changes.append(_left(layer, work))
    with torch.enable_grad():
        values = _values(model, hidden[work.read], work.batch, work.items, metric)
        gradients = torch.autograd.grad(values.sum(), seen)
    here = work.edited[:, None, None]
    by_layer = [
        (change * by_row(gradient, rows)[0] * here).sum((0, 2))
        for change, gradient in zip(changes, gradients, strict=True)
    ]
    return torch.stack(by_layer).cpu()


def _left(layer: Layer, work: Work) -> Float[Tensor, "row head d_head"]:
    """What leaves the z of each edited row, its own less what is put in."""
    label = work.label.clamp(min=0)
    if work.taking is None:
        return layer.z[work.rows.nodes] - work.baseline.table(layer)[label]
    taken = taken_over_edge(layer, work, work.taking)[label]
    return (
        taken if work.giving is None else taken - taken_over_edge(layer, work, work.giving)[label]
    )


def _require_slope(model: Model, baseline: Baseline, metric: Metric) -> None:
    if metric.needs_intact or metric.reads == "states":
        raise ValueError(
            f"{metric.name!r} compares with the intact run, where its gradient is 0, so that it "
            "says nothing; screen by LOGIT_DIFFERENCE."
        )
    if metric.reads == "words":
        raise ValueError(f"{metric.name!r} reads no logits, whose gradient screening follows.")
    if model.plain.anatomy.unembedding is None or model.plain.anatomy.head is not None:
        raise ValueError("the logits of this model are no unembedding, so it cannot be screened.")
    if isinstance(baseline, Renormalised):
        raise ValueError("closing an edge is no change of z by a given amount; screen by Zero().")


def _n_at_once(model: Model, batch: Batch) -> int:
    """How many items' way up fits into half of what is free, every layer's states kept."""
    bytes_an_item = bytes_a_row(model.plain) * batch.ids.shape[1] * model.n_layers
    return max(1, default_budget(model.plain) // (2 * bytes_an_item))


def _gradients(
    model: Model, batch: Batch, items: Int[Tensor, " some"], metric: Metric
) -> list[Float[Tensor, "some head pos d_head"]]:
    """∂m/∂z of every layer, for some items."""
    seen: list[Tensor] = []

    def keep(call: Call) -> Tensor:
        z = attend(replace(call))
        if not z.requires_grad:
            z = z.detach().requires_grad_()
        seen.append(z)
        return z

    rows = torch.arange(len(items))
    with torch.enable_grad(), model.plain.attending(keep):
        final = model.plain.last_block(batch.ids[items])
        states = final[rows, batch.query[items]]
        values = _values(model, states, batch, items, metric)
        return list(torch.autograd.grad(values.sum(), seen))


def _values(
    model: Model,
    states: Float[Tensor, "some d_model"],
    batch: Batch,
    items: Int[Tensor, " some"],
    metric: Metric,
) -> Float[Tensor, " some"]:
    """The metric of some items, from the last block's output at their queries."""
    answer, foil = batch.answer[items], batch.foil[items]
    if metric.needs_vocabulary:
        return metric(model.plain.readout(states, None).cpu(), answer, foil)
    columns = torch.stack([answer, foil], dim=1).to(states.device)
    first = torch.zeros_like(answer)
    return metric(model.plain.readout(states, columns).cpu(), first, first + 1)


def _change(
    kept: Record,
    layer: int,
    batch: Batch,
    scope: AnyScope,
    baseline: Baseline,
    items: Int[Tensor, " some"],
) -> Float[Tensor, "some head pos d_head"]:
    """What leaves z, its own less what is put in."""
    z, donors = kept.z[layer], baseline.donors(batch)
    if is_edge(scope):
        keys = edge_keys(scope, batch)[items]
        lost = _taken(kept, layer, items, keys)
        if donors is not None:
            _require_one_query(batch, items, donors)
            lost = lost - _taken(kept, layer, donors[items], keys)
        return lost[:, :, None].expand_as(z[items])
    if donors is not None:
        return z[items] - z[donors[items]]
    if isinstance(baseline, Mean):
        return z[items] - baseline.z[layer][None, :, None].to(z.device)
    if isinstance(baseline, PositionMean):
        rows = baseline.labels(
            [batch.items[row] for row in items.tolist()], batch.ids[items], items
        )
        return z[items] - baseline.z[layer][rows].transpose(1, 2).to(z.device)
    return z[items]


def _taken(
    kept: Record, layer: int, rows: Int[Tensor, " some"], keys: Bool[Tensor, "some pos"]
) -> Float[Tensor, "some head d_head"]:
    """What some items take at their query from given keys."""
    pattern, value = kept.pattern[layer][rows], kept.value[layer][rows]
    shared = pattern.shape[1] // value.shape[1]
    weights = pattern * keys[:, None].to(pattern.device)
    return torch.einsum("ihk,ihkd->ihd", weights, value.repeat_interleave(shared, dim=1))


def _require_one_query(
    batch: Batch, items: Int[Tensor, " some"], donors: Int[Tensor, " item"]
) -> None:
    apart = batch.query[items] != batch.query[donors[items]]
    if apart.any():
        item = batch.items[int(items[apart][0])]
        raise ValueError(
            f"item {item.item_id} and the one that gives to it are read at different positions, "
            "and what is taken over an edge is kept at each item's own; resample from the pair, or "
            "screen by `mean_attribution`."
        )
