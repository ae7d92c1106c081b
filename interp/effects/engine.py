"""The effect of removing each head, on each item, exactly."""

from collections.abc import Iterator, Sequence

import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor

from interp.effects.metrics import LOGIT_DIFFERENCE, Metric, MetricFunction, as_metric
from interp.effects.replay import replay
from interp.effects.scopes import Scope, edge_contribution, edited_z, first_row
from interp.encode import Batch
from interp.heads import Head
from interp.models.model import Model
from interp.models.record import Record, record
from interp.progress import Progress, silent

ROWS_A_BATCH = 2048
EFFECT_COLUMNS = [
    "intervention",
    "baseline",
    "scope",
    "metric",
    "layer",
    "head",
    "item_id",
    "intact",
    "edited",
    "corrupt",
]


def sweep(
    model: Model,
    batches: Sequence[Batch],
    *,
    scopes: Sequence[Scope] = tuple(Scope),
    metric: Metric | MetricFunction = LOGIT_DIFFERENCE,
    heads: Sequence[Head] | None = None,
    progress: Progress = silent,
) -> pd.DataFrame:
    """Every head's effect on every item: its output replaced by that of the counterfactual run.

    One row an observation: `intervention` (`"ablate"`), `baseline` (`"resample"`: the head's
    output in the paired counterfactual), `scope`, `metric`, `layer`, `head`, `item_id`, and the
    metric of the `intact` run, of the `edited` one, and of the whole counterfactual (`corrupt`;
    for the item's own answer). The effect is `intact − edited`; positive: the head helped. As a
    share of the gap it is `mean(intact − edited) / mean(intact − corrupt)`.

    Args:
        batches: from `encode`.
        scopes: at which tiers (see `Scope`).
        metric: a `Metric`, or your own `f(logits, answer, foil)` with one value a row.
        heads: all when None.

    Raises:
        ValueError: the edge is asked for and an item names no source, removing every head in turn
            changed nothing beyond rounding, or the metric gave something else than one finite
            number a row.
    """
    metric = as_metric(metric)
    scopes = [Scope(scope) for scope in scopes]
    if Scope.EDGE in scopes:
        _require_source(batches)
    heads = model.heads if heads is None else sorted(heads)
    tables = []
    for batch in batches:
        recorded = record(model.plain, batch)
        for scope in scopes:
            tables.append(_sweep_batch(model, recorded, scope, metric, heads, progress))
            if len(heads) == len(model.heads) and not _edge_is_empty(recorded, scope):
                _require_action(tables[-1], _noise(model, recorded, scope, metric))
    return pd.concat(tables, ignore_index=True)


def intact_metric(record: Record, metric: Metric) -> Float[Tensor, " item"]:
    """The metric of the intact run."""
    return metric(record.logits, record.batch.answer, record.batch.foil)


def corrupt_metric(record: Record, metric: Metric) -> Float[Tensor, " item"]:
    """The metric of the counterfactual run, for the item's own answer and foil."""
    batch = record.batch
    return metric(record.logits[batch.donor], batch.answer, batch.foil)


def _sweep_batch(
    model: Model,
    record: Record,
    scope: Scope,
    metric: Metric,
    heads: Sequence[Head],
    progress: Progress,
) -> pd.DataFrame:
    n_layers = model.n_layers
    intact, corrupt = intact_metric(record, metric), corrupt_metric(record, metric)
    item_ids = [item.item_id for item in record.batch.items]
    frames = []
    label = f"{record.batch.items[0].task}, {scope}"
    with progress(label, sum(n_layers - head.layer for head in heads)) as advance:
        for layer, numbers in _by_layer(heads):
            edited = _edited_metric(model, record, scope, layer, numbers, metric)
            for number, values in zip(numbers, edited, strict=True):
                columns = {"intact": intact, "edited": values, "corrupt": corrupt}
                frame = pd.DataFrame({name: column.numpy() for name, column in columns.items()})
                frames.append(frame.assign(item_id=item_ids, layer=layer, head=number))
            advance((n_layers - layer) * len(numbers))
    table = pd.concat(frames, ignore_index=True).assign(
        intervention="ablate", baseline="resample", scope=str(scope), metric=metric.name
    )
    return table[EFFECT_COLUMNS]


def _noise(model: Model, record: Record, scope: Scope, metric: Metric) -> float:
    """How far the metric moves when the engine replays the whole model with nothing edited."""
    items = torch.arange(len(record.batch))
    start = first_row(record, scope, is_causal=model.is_causal)
    z = record.z[0][:, :, start:]
    given = _read(model, record, metric, layer=0, z=z, items=items, start=start)
    return float((metric(*given) - intact_metric(record, metric)).abs().max())


def _require_source(batches: Sequence[Batch]) -> None:
    """Without a source there is no edge, and its effect would be a 0 that nobody measured."""
    for batch in batches:
        for item, has_source in zip(batch.items, batch.source.any(1).tolist(), strict=True):
            if not has_source:
                raise ValueError(
                    f"item {item.item_id} names no source, so it has no edge to measure; name one, "
                    "or ask for scopes=[Scope.EVERYWHERE, Scope.QUERY]."
                )


def _edge_is_empty(record: Record, scope: Scope) -> bool:
    """Whether no head takes anything over the edge, so that there is nothing to remove."""
    if scope is not Scope.EDGE:
        return False
    return all(
        edge_contribution(record, layer).abs().max() <= 1e-5 * z.abs().max()
        for layer, z in enumerate(record.z)
    )


def _require_action(effects: pd.DataFrame, noise: float) -> None:
    largest = (effects["intact"] - effects["edited"]).abs().max()
    if largest <= 10 * noise:
        raise ValueError(
            "removing every head of the model in turn changed no item beyond rounding "
            f"({largest:.1g} against {noise:.1g} with nothing edited), so the edits did not act; "
            "see that clean and corrupt texts differ, and that the output projections are not zero."
        )


def _by_layer(heads: Sequence[Head]) -> Iterator[tuple[int, list[int]]]:
    for layer in sorted({head.layer for head in heads}):
        yield layer, [head.head for head in heads if head.layer == layer]


def _edited_metric(
    model: Model, record: Record, scope: Scope, layer: int, numbers: list[int], metric: Metric
) -> Float[Tensor, "head item"]:
    """The metric with each of a layer's heads removed in turn, many rows at a time."""
    batch = record.batch
    head = torch.tensor(numbers).repeat_interleave(len(batch))
    items = torch.arange(len(batch)).repeat(len(numbers))
    values = []
    start = first_row(record, scope, is_causal=model.is_causal)
    n_variants = max(1, ROWS_A_BATCH // (batch.ids.shape[1] - start))
    for which in torch.split(torch.arange(len(items)), n_variants):
        logits, answer, foil = ablated_logits(
            model, record, scope, layer=layer, head=head[which], items=items[which], metric=metric
        )
        values.append(metric(logits, answer, foil))
    return torch.cat(values).view(len(numbers), len(batch))


def ablated_logits(
    model: Model,
    record: Record,
    scope: Scope,
    *,
    layer: int,
    head: Int[Tensor, " variant"],
    items: Int[Tensor, " variant"],
    metric: Metric,
) -> tuple[Float[Tensor, "variant column"], Int[Tensor, " variant"], Int[Tensor, " variant"]]:
    """Logits at the query with one head of a layer removed, a variant for each head and item.

    With them the columns of answer and foil; only these two are there when the metric needs no
    more.
    """
    start = first_row(record, scope, is_causal=model.is_causal)
    variants = torch.arange(len(items))
    with torch.inference_mode():
        z = record.z[layer][items][:, :, start:].clone()
        z[variants, head] = edited_z(record, scope, layer, start=start)[items, head]
    return _read(model, record, metric, layer=layer, z=z, items=items, start=start)


def _read(
    model: Model,
    record: Record,
    metric: Metric,
    *,
    layer: int,
    z: Float[Tensor, "variant head row d_head"],
    items: Int[Tensor, " variant"],
    start: int,
) -> tuple[Float[Tensor, "variant column"], Int[Tensor, " variant"], Int[Tensor, " variant"]]:
    """Logits at the query under another z in one layer, with the columns of answer and foil."""
    batch, variants = record.batch, torch.arange(len(items))
    with torch.inference_mode():
        final = replay(model.plain, record, layer=layer, z=z, items=items, start=start)
        states = final[variants, batch.query[items] - start]
        answer, foil = batch.answer[items], batch.foil[items]
        if metric.needs_vocabulary:
            return model.plain.readout(states, None), answer, foil
        logits = model.plain.readout(states, torch.stack([answer, foil], dim=1))
    return logits, torch.zeros_like(answer), torch.ones_like(foil)
