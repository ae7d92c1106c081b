"""The effect of removing each head, on each item, exactly."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from interp.effects.baselines import Baseline, Resample, require_disjoint
from interp.effects.measuring import Values, measure, require_action
from interp.effects.metrics import LOGIT_DIFFERENCE, Metric, MetricFunction, as_metrics
from interp.effects.parts import Removals
from interp.effects.pieces import limits
from interp.effects.readings import try_out
from interp.effects.scopes import TIERS, AnyScope, as_scope
from interp.effects.spans import at_spans, spans_read
from interp.effects.work import intervention_name
from interp.encode import Batch
from interp.heads import Head
from interp.models.model import Model
from interp.models.record import Record, record
from interp.models.routes import route
from interp.progress import Progress, silent
from interp.shards import Shards

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
_RESAMPLE = Resample()


def sweep(
    model: Model,
    batches: Sequence[Batch],
    *,
    scopes: Sequence[AnyScope | str] = TIERS,
    baseline: Baseline = _RESAMPLE,
    metric: Metric | MetricFunction | Sequence[Metric | MetricFunction] = LOGIT_DIFFERENCE,
    heads: Sequence[Head] | None = None,
    memory: int | None = None,
    shards: Shards | None = None,
    progress: Progress = silent,
) -> pd.DataFrame:
    """Every head's effect on every item: its output replaced by what the baseline gives.

    One row an observation: `intervention` (`"ablate"`; on an edge that gives nothing `"zero_edge"`,
    on one that is closed `"close_edge"`), the name of the `baseline`, `scope`, `metric`, `layer`,
    `head`, `item_id`, and the metric of the `intact` run, of the `edited` one, and of the whole
    counterfactual (`corrupt`; for the item's own answer). The effect is `intact − edited`;
    positive: the head helped. As a share of the gap it is `mean(intact − edited) / mean(intact −
    corrupt)`; effects of other baselines than a resample have no such share (see `joint.removed`).

    Args:
        batches: from `encode`.
        scopes: where (see `Scope`), by name or value, or `Positions` of one's own.
        baseline: what is put in: `Resample()` from the pair, `ResampleRandom(seed=…)`, `Zero()`,
            `Renormalised()`, or a mean from `means`.
        metric: a `Metric`, your own `f(logits, answer, foil)` with one value a row, or several.
        heads: all when None.
        memory: in bytes; half of what is free when None.
        shards: where parts of the work are kept, and who does them; here and nowhere when None.

    Raises:
        ValueError: an item cannot be edited as asked, the edge is asked for and an item names no
            source, removing every head in turn changed nothing beyond rounding, an item is in a
            mean's reference set, the metric gave something else than one finite number a row, or
            an item does not fit into memory.
    """
    metrics = as_metrics(metric)
    places = [as_scope(scope) for scope in scopes]
    heads = model.heads if heads is None else sorted(heads)
    within = limits(model.plain, memory)
    for batch in batches:
        require_disjoint(baseline, batch)
    try_out(model.plain, metrics, batches[0])
    asked = [
        Removals(
            batch=batch, scope=scope, baseline=baseline, metrics=tuple(metrics),
            sets=singles(model, heads),
        )
        for batch in batches
        for scope in places
    ]  # fmt: skip
    label = f"{batches[0].items[0].task}, {', '.join(map(str, places))}: {route(model.plain)}"
    found = measure(model, asked, within=within, shards=shards, label=label, progress=progress)
    tables = []
    for removals, values in zip(asked, found, strict=True):
        if len(heads) == len(model.heads):
            require_action(model, removals, values, within)
        tables += [
            _table(values, number, removals.batch, heads).assign(
                intervention=intervention_name(removals.scope, baseline),
                baseline=baseline.name,
                scope=str(removals.scope),
                metric=each.name,
            )
            for number, each in enumerate(metrics)
        ]
    return pd.concat(tables, ignore_index=True)[EFFECT_COLUMNS]


def intact_metric(record: Record, metric: Metric) -> Float[Tensor, " item"]:
    """The metric of the intact run."""
    return metric(record.logits, record.batch.answer, record.batch.foil, record.logits)


def corrupt_metric(record: Record, metric: Metric) -> Float[Tensor, " item"]:
    """The metric of the counterfactual run, for the item's own answer and foil."""
    batch = record.batch
    return metric(record.logits[batch.donor], batch.answer, batch.foil, record.logits)


def unedited(
    model: Model, batch: Batch, metric: Metric
) -> tuple[Float[Tensor, " item"], Float[Tensor, " item"]]:
    """The metric on each item, and on its whole counterfactual for the item's own answer.

    Raises:
        ValueError: the metric reads words, and see `spans_read`.
    """
    words = spans_read(model.plain, [metric], batch)
    if words is None:
        recorded = record(model.plain, batch, keep=())
        return intact_metric(recorded, metric), corrupt_metric(recorded, metric)
    with torch.inference_mode():
        states = model.plain.last_block(batch.ids)
        here, there = (
            metric(at_spans(each, words).cpu(), batch.answer, batch.foil)
            for each in (states, states[batch.donor])
        )
    return here, there


def singles(model: Model, heads: Sequence[Head]) -> Bool[Tensor, "variant layer head"]:
    """One variant for each head, without that head."""
    sets = torch.zeros(len(heads), model.n_layers, model.n_heads, dtype=torch.bool)
    for number, head in enumerate(heads):
        sets[number, head.layer, head.head] = True
    return sets


def _table(found: Values, metric: int, batch: Batch, heads: Sequence[Head]) -> pd.DataFrame:
    n_heads, n_items = len(heads), len(batch)
    columns = {
        "intact": found.intact[metric].repeat(n_heads),
        "edited": found.edited[metric].flatten(),
        "corrupt": found.corrupt[metric].repeat(n_heads),
    }
    table = pd.DataFrame({name: column.numpy() for name, column in columns.items()})
    return table.assign(
        item_id=np.tile([item.item_id for item in batch.items], n_heads),
        layer=np.repeat([head.layer for head in heads], n_items),
        head=np.repeat([head.head for head in heads], n_items),
    )
