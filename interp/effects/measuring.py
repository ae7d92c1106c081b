"""The metrics of any sets of removed heads, on the items of one batch."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from interp.effects.ascent import Advance, ascend, taken_over_edge
from interp.effects.baselines import Baseline
from interp.effects.metrics import Metric
from interp.effects.pieces import Limits, pieces
from interp.effects.plain_loop import looped_logits
from interp.effects.readings import read
from interp.effects.scopes import AnyScope, is_edge
from interp.effects.spans import Spans, at_nodes, spans_read
from interp.effects.work import Work, prepare
from interp.encode import Batch
from interp.heads import Head
from interp.models.model import Model
from interp.models.routes import route
from interp.models.walk import walk


class Values(NamedTuple):
    """Metrics on every item: of each variant, of the intact run, of the whole counterfactual."""

    edited: Float[Tensor, "metric variant item"]
    intact: Float[Tensor, "metric item"]
    corrupt: Float[Tensor, "metric item"]


def measure(
    model: Model,
    batch: Batch,
    scope: AnyScope,
    baseline: Baseline,
    metrics: Sequence[Metric],
    sets: Bool[Tensor, "variant layer head"],
    *,
    within: Limits,
    advance: Advance = lambda cost: None,
) -> Values:
    """Metrics with each set of heads removed at once.

    Raises:
        ValueError: see `sweep`.
    """
    if not route(model.plain).by_layers:
        return _looped(model, batch, scope, baseline, metrics, sets)
    plain, n_items = model.plain, len(batch)
    words = spans_read(plain, metrics, batch)
    edited = torch.empty(len(metrics), len(sets), n_items)
    intact, corrupt = torch.empty(len(metrics), n_items), torch.empty(len(metrics), n_items)
    by_birth = _birth(sets).argsort(stable=True)
    for piece in pieces(plain, batch, scope, baseline, len(sets), within):
        items = piece.work.items
        of_items = None if words is None else words[items]
        for some in torch.split(by_birth, piece.n_variants):
            states, last = ascend(
                piece.work,
                sets[some],
                rows_a_batch=within.rows_a_batch,
                words=of_items,
                advance=partial(_advance_share, advance, len(items) / n_items),
            )
            before, instead = _unedited(piece.work, last, of_items)
            values = read(plain, metrics, states, before, batch, items)
            edited[:, some[:, None], items] = values
        both = torch.stack([before, instead])
        values = read(plain, metrics, both, before, batch, items)
        intact[:, items], corrupt[:, items] = values[:, 0], values[:, 1]
    return Values(edited, intact, corrupt)


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


def require_action(
    model: Model,
    batch: Batch,
    scope: AnyScope,
    baseline: Baseline,
    metrics: Sequence[Metric],
    found: Values,
    within: Limits,
) -> None:
    """Refuse effects that are all 0, unless nothing goes over the edge that was asked for.

    Raises:
        ValueError: no head's removal changed a metric beyond rounding.
    """
    largest = (found.intact[:, None] - found.edited).abs().amax((1, 2))
    if bool((largest > 1e-3 * found.intact.abs().amax(1).clamp(min=1)).all()):
        return
    nothing = torch.zeros(1, model.n_layers, model.n_heads, dtype=torch.bool)
    again = measure(model, batch, scope, baseline, metrics, nothing, within=within)
    noise = (again.edited[:, 0] - found.intact).abs().amax(1)
    for metric, size, rounding in zip(metrics, largest.tolist(), noise.tolist(), strict=True):
        if size <= 10 * rounding and not _edge_is_empty(model, batch, scope, baseline):
            raise ValueError(
                f"removing every head of the model in turn changed no item beyond rounding "
                f"({size:.1g} in {metric.name} against {rounding:.1g} with nothing edited), so "
                "the edits did not act; see that clean and corrupt texts differ, and that the "
                "output projections are not zero."
            )


def _edge_is_empty(model: Model, batch: Batch, scope: AnyScope, baseline: Baseline) -> bool:
    """Whether no head takes anything over the edge, so that there is nothing to remove."""
    if not is_edge(scope):
        return False
    work = prepare(
        model.plain, batch, scope, baseline, torch.arange(len(batch)),
        shares=route(model.plain).shares_prefixes, rows_a_batch=1,
    )  # fmt: skip
    assert work.taking is not None
    return all(
        bool(taken_over_edge(layer, work, work.taking).abs().max() <= 1e-5 * layer.z.abs().max())
        for layer in walk(work.start)
    )


def _looped(
    model: Model,
    batch: Batch,
    scope: AnyScope,
    baseline: Baseline,
    metrics: Sequence[Metric],
    sets: Bool[Tensor, "variant layer head"],
) -> Values:
    """One forward a variant, through TransformerLens, where no layer can be run by itself."""
    nothing = looped_logits(model, batch, [], scope, baseline)
    rows = [looped_logits(model, batch, _heads(removed), scope, baseline) for removed in sets]
    values = [
        torch.stack([metric(row, batch.answer, batch.foil, nothing) for metric in metrics])
        for row in (*rows, nothing, nothing[batch.donor])
    ]
    together = torch.stack(values, dim=1)
    return Values(together[:, :-2], together[:, -2], together[:, -1])


def _heads(removed: Bool[Tensor, "layer head"]) -> list[Head]:
    return [Head(*pair) for pair in removed.nonzero().tolist()]


def _advance_share(advance: Advance, share: float, cost: int) -> None:
    advance(round(cost * share))


def _birth(sets: Bool[Tensor, "variant layer head"]) -> Tensor:
    return sets.any(2).int().argmax(1)
