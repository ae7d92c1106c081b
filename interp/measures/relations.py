"""Attention from the query to the source of each item: the pattern alone."""

from collections.abc import Sequence

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from interp.encode import Batch
from interp.measures.measure import Measure, mass, where
from interp.measures.tables import score_table
from interp.models.record import Record

LEAST_NON_SINK = 1e-3
SMALLEST = 1e-6


def raw(record: Record) -> Float[Tensor, "item layer head"]:
    """Attention to the source, a probability."""
    return where(record.batch.source.any(1), mass(_pattern(record), record.batch.source))


def sink_mass(record: Record) -> Float[Tensor, "item layer head"]:
    """Attention to special tokens and position 0, a probability."""
    return mass(_pattern(record), record.batch.special).float()


def sink_corrected_raw(record: Record) -> Float[Tensor, "item layer head"]:
    """`raw / (1 − sink_mass)`, 0 to 1; undefined where less than .001 is left."""
    return sink_corrected(raw(record), sink_mass(record))


def margin(record: Record) -> Float[Tensor, "item layer head"]:
    """Attention to the source less attention to the distractors, −1 to 1."""
    batch = record.batch
    return where(batch.distractor.any(1), raw(record) - _to_distractor(record))


def log_ratio(record: Record) -> Float[Tensor, "item layer head"]:
    """Log of attention to the source over attention to the distractors, in nats, ±13.8 at most."""
    to_source, to_distractor = raw(record), _to_distractor(record)
    ratio = ((to_source + SMALLEST) / (to_distractor + SMALLEST)).log()
    return where(record.batch.distractor.any(1), ratio)


def cas(record: Record) -> Float[Tensor, "item layer head"]:
    """Counterfactual attention selectivity, −1 to 1.

    Attention to the source less attention to the same place in the counterfactual, where it is not
    the source. Positional and lexical heads give 0. Its mean over both directions of a pair is the
    CAS of that pair. UndefinedError where the counterfactual has its source at the same place.
    """
    batch, pattern = record.batch, _pattern(record)
    moves = ~(batch.source & batch.source[batch.donor]).any(1)
    return where(moves, raw(record) - mass(pattern[batch.donor], batch.source))


RAW = Measure(
    name="raw",
    of=raw,
    league="pattern only",
    unit="probability, 0 to 1",
    chance="even",
    formula="Σ_src A[q, j]",
    source="Clark et al. 2019, arXiv:1906.04341",
)
SINK_MASS = Measure(
    name="sink_mass",
    of=sink_mass,
    league="pattern only",
    unit="probability, 0 to 1",
    chance="none",
    formula="Σ_special A[q, j]",
    source="Xiao et al. 2023, arXiv:2309.17453",
)
SINK_CORRECTED = Measure(
    name="sink_corrected",
    of=sink_corrected_raw,
    league="pattern only",
    unit="share, 0 to 1",
    chance="even",
    formula="Σ_src A[q, j] / (1 − Σ_special A[q, j])",
    source="here",
)
MARGIN = Measure(
    name="margin",
    of=margin,
    league="pattern only",
    unit="difference of probabilities, −1 to 1",
    chance="even",
    formula="Σ_src A[q, j] − Σ_dis A[q, j]",
    source="here",
)
LOG_RATIO = Measure(
    name="log_ratio",
    of=log_ratio,
    league="pattern only",
    unit="nats, −13.8 to 13.8",
    chance="even",
    formula="log (Σ_src A[q, j] + 1e−6) − log (Σ_dis A[q, j] + 1e−6)",
    source="here",
)
CAS = Measure(
    name="cas",
    of=cas,
    league="pattern only",
    unit="difference of probabilities, −1 to 1",
    chance="zero",
    formula="Σ_src (A[q, j] − A′[q, j]), A′ the counterfactual's",
    source="here",
)
IN_A_RUN = (RAW, SINK_MASS, SINK_CORRECTED, MARGIN, CAS)
"""The measures that every run takes."""


def relation_scores(record: Record) -> pd.DataFrame:
    """The scores that every run takes, of every head on every item of a recorded batch.

    One row an observation: `measure`, `layer`, `head`, `item_id`, `value`, `valid`. UndefinedError
    values are NaN with `valid` False.
    """
    item_ids = [item.item_id for item in record.batch.items]
    tables = [score_table(measure.name, measure.of(record), item_ids) for measure in IN_A_RUN]
    return pd.concat(tables, ignore_index=True)


def chance(batches: Sequence[Batch]) -> float:
    """Attention to the source of a head that attends evenly to all it may, the sink left out."""
    shares: list[float] = []
    for batch in batches:
        n_keys = batch.query + 1 - batch.special.sum(1)
        shares += (batch.source.sum(1) / n_keys).tolist()
    return sum(shares) / len(shares)


def sink_corrected(
    raw: Float[Tensor, "item layer head"], sink_mass: Float[Tensor, "item layer head"]
) -> Float[Tensor, "item layer head"]:
    """Attention as a share of what does not go to the sink; NaN where less than .001 is left."""
    left = 1 - sink_mass
    return torch.where(left < LEAST_NON_SINK, torch.nan, raw / left)


def _pattern(record: Record) -> Float[Tensor, "item layer head key"]:
    return torch.stack(record.pattern, dim=1)


def _to_distractor(record: Record) -> Float[Tensor, "item layer head"]:
    return mass(_pattern(record), record.batch.distractor)
