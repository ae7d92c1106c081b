"""At which position does a head matter: its effect, one position at a time."""

from collections.abc import Sequence
from functools import partial

import pandas as pd
import torch
from jaxtyping import Bool
from torch import Tensor

from interp.effects.baselines import Baseline, Resample, ResampleRandom
from interp.effects.engine import EFFECT_COLUMNS, sweep
from interp.effects.metrics import LOGIT_DIFFERENCE, Metric, MetricFunction
from interp.effects.scopes import Positions
from interp.encode import Batch
from interp.heads import Head
from interp.models.model import Model

_RESAMPLE = Resample()


def by_position(
    model: Model,
    batches: Sequence[Batch],
    head: Head,
    *,
    baseline: Baseline = _RESAMPLE,
    metric: Metric | MetricFunction = LOGIT_DIFFERENCE,
) -> pd.DataFrame:
    """A head's effect when it is removed at one position alone, for each position in turn.

    Rows as in `sweep`, and `position`. Left out are positions after an item's query, and in causal
    models those at which a donor has the same prefix, so that the head gives the same there.

    Raises:
        ValueError: the baseline draws donors among the items, which here differ by position; or
            there is nothing to edit at all.
    """
    if isinstance(baseline, ResampleRandom):
        raise ValueError(
            "random donors would differ from position to position; give Resample(), Zero() or a "
            "mean."
        )
    tables = []
    for batch in batches:
        for position in range(int(batch.query.max()) + 1):
            rows = _with_something_to_edit(model, batch, baseline, position).nonzero()[:, 0]
            if not len(rows):
                continue
            some = batch.reordered(rows)
            scope = Positions(f"position {position}", partial(_only, position=position))
            table = sweep(
                model, [some], scopes=[scope], heads=[head], baseline=baseline, metric=metric
            )
            tables.append(table.assign(position=position))
    if not tables:
        raise ValueError("at no position is there anything to edit; see that the texts differ.")
    return pd.concat(tables, ignore_index=True)[[*EFFECT_COLUMNS, "position"]]


def _with_something_to_edit(
    model: Model, batch: Batch, baseline: Baseline, position: int
) -> Bool[Tensor, " item"]:
    """Whole pairs, of which both have something to edit at a position."""
    has = batch.query >= position
    donors = baseline.donors(batch)
    if donors is not None and model.is_causal:
        differs = (batch.ids != batch.ids[donors])[:, : position + 1].any(1)
        has = has & differs
    return has & has[batch.donor]


def _only(batch: Batch, *, position: int) -> Bool[Tensor, "item pos"]:
    return (torch.arange(batch.ids.shape[1]) == position).expand(batch.ids.shape)
