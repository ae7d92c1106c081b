"""Heads that attend and act, silenced: they must be found to attend as before and do nothing."""

from collections.abc import Sequence

import pandas as pd
import torch

from interp.effects.baselines import Resample
from interp.effects.plain_loop import Looped
from interp.effects.scopes import TIERS
from interp.encode import Batch
from interp.grafts.apart import silenced
from interp.grafts.found import IDLE, examined, found
from interp.heads import Head
from interp.models import Model
from interp.models.record import record

ROUNDING = 1e-5
N_LOOPED = 2


def silence(
    model: Model, batches: Sequence[Batch], heads: Sequence[Head], *, seed: int
) -> pd.DataFrame:
    """What is found of each head before and after its slice of W_O is set to zero.

    One row a head: attention to the source (`raw`), the end of its three effects' intervals that is
    farthest from 0 (`effect`, a share of the gap), the largest change of any logit when it is
    removed in the plain loop (`looped`, first items, all tiers), and `verdict`, each also
    `_before`; `attends_as_before`: on every item and to every key, to the last bit.

    All `agrees` where it attends as before, `looped` is 0, `effect` is 0 but for rounding (below
    1e-5; the engine adds up in another order), and the verdict is that it attends and is idle;
    and before it was silenced, none of these three was so.
    """
    before = found(model, batches, scopes=TIERS, heads=heads, seed=seed)
    rows = []
    for head in heads:
        planted = silenced(model, head)
        after = examined(planted, batches, [head], seed=seed)
        was, now = before.loc[head.label], after.loc[head.label]
        row = {
            "head": head.label,
            "raw_before": was["raw"],
            "raw": now["raw"],
            "attends_as_before": all(_attend_alike(model, planted, each, head) for each in batches),
            "effect_before": _farthest(was),
            "effect": _farthest(now),
            "looped_before": _looped(model, batches[0], head),
            "looped": _looped(planted, batches[0], head),
            "verdict_before": was["verdict"],
            "verdict": now["verdict"],
        }
        is_idle = row["effect"] < ROUNDING and row["looped"] == 0 and row["verdict"] == IDLE
        acted = (
            row["effect_before"] > ROUNDING
            and row["looped_before"] > 0
            and row["verdict_before"] != IDLE
        )
        rows.append(row | {"agrees": bool(row["attends_as_before"] and is_idle and acted)})
    return pd.DataFrame(rows)


def _farthest(row: "pd.Series[float]") -> float:
    bounds = [f"effect_{tier}_{end}" for tier in TIERS for end in ("low", "high")]
    return float(row[bounds].astype(float).abs().max())


def _looped(model: Model, batch: Batch, head: Head) -> float:
    few, largest = batch.first(N_LOOPED), 0.0
    for scope in TIERS:
        loop = Looped(model, few, scope, Resample(), [head.layer])
        largest = max(largest, (loop.logits([head]) - loop.logits([])).abs().max().item())
    return largest


def _attend_alike(model: Model, planted: Model, batch: Batch, head: Head) -> bool:
    one, other = (
        record(each.plain, batch, keep=("pattern",)).pattern[head.layer][:, head.head]
        for each in (model, planted)
    )
    return torch.equal(one, other)
