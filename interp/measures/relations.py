"""Attention from the query to the source of each item, with its controls."""

from collections.abc import Sequence

import pandas as pd
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from interp.encode import Batch
from interp.measures.tables import score_table
from interp.models.record import Record

LEAST_NON_SINK = 1e-3


def relation_scores(record: Record) -> pd.DataFrame:
    """Attention scores of every head on every item of a recorded batch.

    One row an observation: `measure`, `layer`, `head`, `item_id`, `value`, `valid`. All are read
    in the row of the query:

    - `raw`: attention to the source, a probability.
    - `sink_mass`: attention to special tokens and position 0.
    - `sink_corrected`: `raw / (1 − sink_mass)`; undefined where less than .001 is left.
    - `margin`: attention to the source less attention to the distractors, −1 to 1.
    - `cas`: counterfactual attention selectivity, attention to the source less attention to the
      same place in the counterfactual, where it is not the source; −1 to 1. Positional and lexical
      heads give 0. Its mean over both directions of a pair is the CAS of that pair. Undefined
      where the counterfactual has its source at the same place.

    Undefined values are NaN with `valid` False.
    """
    batch = record.batch
    pattern = torch.stack(record.pattern, dim=1)
    raw = mass(pattern, batch.source)
    sink_mass = mass(pattern, batch.special)
    elsewhere = mass(pattern[batch.donor], batch.source)
    has_source = batch.source.any(1)
    moves = has_source & ~(batch.source & batch.source[batch.donor]).any(1)
    has_distractor = has_source & batch.distractor.any(1)
    scores = {
        "raw": where(has_source, raw),
        "sink_mass": sink_mass,
        "sink_corrected": where(has_source, sink_corrected(raw, sink_mass)),
        "margin": where(has_distractor, raw - mass(pattern, batch.distractor)),
        "cas": where(moves, raw - elsewhere),
    }
    item_ids = [item.item_id for item in batch.items]
    return pd.concat(
        [score_table(name, values, item_ids) for name, values in scores.items()],
        ignore_index=True,
    )


def chance(batches: Sequence[Batch]) -> float:
    """Attention to the source of a head that attends evenly to all it may, the sink left out."""
    shares: list[float] = []
    for batch in batches:
        n_keys = batch.query + 1 - batch.special.sum(1)
        shares += (batch.source.sum(1) / n_keys).tolist()
    return sum(shares) / len(shares)


def mass(
    pattern: Float[Tensor, "item layer head key"], places: Bool[Tensor, "item key"]
) -> Float[Tensor, "item layer head"]:
    """Attention that falls on some places, summed."""
    return (pattern * places[:, None, None, :]).sum(-1)


def sink_corrected(
    raw: Float[Tensor, "item layer head"], sink_mass: Float[Tensor, "item layer head"]
) -> Float[Tensor, "item layer head"]:
    """Attention as a share of what does not go to the sink; NaN where less than .001 is left."""
    left = 1 - sink_mass
    return torch.where(left < LEAST_NON_SINK, torch.nan, raw / left)


def where(
    defined: Bool[Tensor, " item"], values: Float[Tensor, "item layer head"]
) -> Float[Tensor, "item layer head"]:
    """The values, NaN for items on which they are not defined."""
    return torch.where(defined[:, None, None], values, torch.nan)
