"""Every measure of attention from a query to a source, and the stage that takes them."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
import torch

from interp.measures.direct import DLA, PVW
from interp.measures.gradients import ATTENTION_GRADIENT, SCORE_GRADIENT
from interp.measures.measure import Measure
from interp.measures.mixing import MIXING, MIXING_NORM, RESIDUAL_NORM_SHARE, RESIDUAL_SHARE
from interp.measures.norms import NORM, NORM_SHARE, VALUE_WEIGHTED
from interp.measures.relations import CAS, LOG_RATIO, MARGIN, RAW, SINK_CORRECTED, SINK_MASS
from interp.measures.rollout import HEAD_ROLLOUT, ROLLOUT, ROLLOUT_OVER_EVEN
from interp.measures.tables import score_table
from interp.measures.zeroing import HEAD_VALUE_ZEROING, VALUE_ZEROING
from interp.models.record import Record
from interp.models.undefined import UndefinedError

MEASURES = (
    RAW,
    SINK_MASS,
    SINK_CORRECTED,
    MARGIN,
    LOG_RATIO,
    CAS,
    ROLLOUT,
    ROLLOUT_OVER_EVEN,
    HEAD_ROLLOUT,
    VALUE_WEIGHTED,
    NORM,
    NORM_SHARE,
    RESIDUAL_SHARE,
    RESIDUAL_NORM_SHARE,
    MIXING,
    MIXING_NORM,
    VALUE_ZEROING,
    HEAD_VALUE_ZEROING,
    PVW,
    DLA,
    ATTENTION_GRADIENT,
    SCORE_GRADIENT,
)


@dataclass(frozen=True, kw_only=True)
class Scored:
    """The scores of a batch.

    Attributes:
        table: one row an observation: `measure`, `layer`, `head`, `item_id`, `value`, `valid`.
        counts: one row a measure: `measure`, `n_valid` of `n_values`, and the `reason` where the
            model has no such number.
    """

    table: pd.DataFrame
    counts: pd.DataFrame


def scores(record: Record, measures: Sequence[Measure] = MEASURES) -> Scored:
    """Every head on every item of a recorded batch, by each measure.

    What is undefined is NaN with `valid` False; in a model without such a number, all of it is.
    """
    item_ids = [item.item_id for item in record.batch.items]
    tables, counts = [], []
    for measure in measures:
        reason = ""
        try:
            values = measure.of(record)
        except UndefinedError as error:
            reason = str(error)
            values = torch.full((len(item_ids), len(record.z), record.z[0].shape[1]), torch.nan)
        table = score_table(measure.name, values, item_ids)
        tables.append(table)
        counts.append(
            {
                "measure": measure.name,
                "n_valid": int(table["valid"].sum()),
                "n_values": len(table),
                "reason": reason,
            }
        )
    return Scored(table=pd.concat(tables, ignore_index=True), counts=pd.DataFrame(counts))


def described(measures: Sequence[Measure] = MEASURES) -> pd.DataFrame:
    """What each measure declares, a row a measure."""
    columns = ["name", "league", "unit", "chance", "formula", "source", "of_layer"]
    rows = [{column: getattr(measure, column) for column in columns} for measure in measures]
    return pd.DataFrame(rows, columns=columns).rename(columns={"name": "measure"})
