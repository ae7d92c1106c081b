"""Every head's effect to first order, from one backward pass: for screening, never as a result."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from interp.effects.baselines import Baseline, Mean, PositionMean, Renormalised
from interp.effects.metrics import Metric
from interp.effects.scopes import AnyScope, edge_keys, edited_positions, is_edge
from interp.encode import Batch
from interp.models.memory import bytes_a_row, default_budget
from interp.models.model import Model
from interp.models.plain import Call, attend
from interp.models.record import Record, record


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
    if metric.needs_intact or metric.reads == "states":
        raise ValueError(
            f"{metric.name!r} compares with the intact run, where its gradient is 0, so that it "
            "says nothing; screen by LOGIT_DIFFERENCE."
        )
    if model.plain.anatomy.unembedding is None or model.plain.anatomy.head is not None:
        raise ValueError("the logits of this model are no unembedding, so it cannot be screened.")
    if isinstance(baseline, Renormalised):
        raise ValueError("closing an edge is no change of z by a given amount; screen by Zero().")
    edge = any(is_edge(scope) for scope in scopes)
    kept = record(model.plain, batch, keep=("z", "value", "pattern") if edge else ("z",))
    places = [edited_positions(scope, batch) for scope in scopes]
    n_at_once = max(
        1, default_budget(model.plain) // (bytes_a_row(model.plain) * batch.ids[0].numel())
    )
    n_at_once = max(1, n_at_once // (2 * model.n_layers))
    parts: list[list[Tensor]] = [[] for _ in scopes]
    for items in torch.split(torch.arange(len(batch)), n_at_once):
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
        answer, foil = batch.answer[items], batch.foil[items]
        if metric.needs_vocabulary:
            values = metric(model.plain.readout(states, None).cpu(), answer, foil)
        else:
            columns = torch.stack([answer, foil], dim=1).to(states.device)
            first = torch.zeros_like(answer)
            values = metric(model.plain.readout(states, columns).cpu(), first, first + 1)
        return list(torch.autograd.grad(values.sum(), seen))


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
        taken = _taken(kept, layer, edge_keys(scope, batch))
        lost = taken if donors is None else taken - taken[donors]
        return lost[items][:, :, None].expand_as(z[items])
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
    kept: Record, layer: int, keys: Bool[Tensor, "item pos"]
) -> Float[Tensor, "item head d_head"]:
    pattern, value = kept.pattern[layer], kept.value[layer]
    shared = pattern.shape[1] // value.shape[1]
    weights = pattern * keys[:, None].to(pattern.device)
    return torch.einsum("ihk,ihkd->ihd", weights, value.repeat_interleave(shared, dim=1))
