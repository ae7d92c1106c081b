"""The steps of a run that need the model and stand alone: each is made once, and kept."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import pandas as pd

from interp.effects.check import check_against_loop
from interp.effects.device_check import check_against_cpu
from interp.effects.joint import joint
from interp.effects.metrics import Metric
from interp.effects.scopes import Scope
from interp.encode import Batch
from interp.evidence.removal import clusters_of
from interp.measures.battery import battery
from interp.measures.controls import controls
from interp.measures.relations import CAS, RAW, SINK_CORRECTED, relation_scores
from interp.measures.repeats import repeats
from interp.models.model import Model
from interp.models.record import record
from interp.stats import ratio_interval

_N_RANDOM = 3
_LEAST_PAIRS = 4


def attention_scores(model: Model, batches: Sequence[Batch]) -> pd.DataFrame:
    """What attention says of each head and item."""
    found = [relation_scores(record(model.plain, batch, keep=("pattern",))) for batch in batches]
    return pd.concat(found, ignore_index=True)


def engine_check(model: Model, batch: Batch, scopes: Sequence[Scope]) -> dict[str, Any]:
    """The engine against the plain loop, and where that was; a GPU first against the CPU."""
    if model.device.startswith("cuda") and model.dtype == "float32":
        check_against_cpu(model, batch)
    return {**asdict(check_against_loop(model, batch, scopes=scopes)), "device": model.device}


def repeat_battery(model: Model, seed: int) -> pd.DataFrame:
    """What each head does on repeated random tokens."""
    return battery(model, repeats(model, seed=seed))


def all_heads(model: Model, batches: Sequence[Batch], scope: Scope, metric: Metric) -> list[float]:
    """What all heads exchanged at once move, a share of the gap with its 95 % interval.

    What they do not move is in the words themselves, and no head's doing.
    """
    table = joint(model, batches, {"all": model.heads}, scope=scope, metric=metric)
    share = ratio_interval(
        (table["intact"] - table["edited"]).to_numpy(float)[:, None],
        (table["intact"] - table["corrupt"]).to_numpy(float),
        clusters_of([item for batch in batches for item in batch.items]),
    )
    return [float(each[0]) for each in (share.estimate, share.low, share.high)]


def score_controls(
    model: Model, batches: Sequence[Batch], scores: pd.DataFrame, seed: int
) -> pd.DataFrame:
    """The controls of those measures that are defined on every item; none of a single pair."""
    if len({item.pair_id for batch in batches for item in batch.items}) < _LEAST_PAIRS:
        return pd.DataFrame()
    is_whole = scores.groupby("measure")["valid"].all()
    measures = [each for each in (RAW, SINK_CORRECTED, CAS) if is_whole[each.name]]
    return controls(model, batches, measures, n_seeds=_N_RANDOM, seed=seed)
