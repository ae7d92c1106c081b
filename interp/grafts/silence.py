"""Heads that attend and act, silenced: they must be found to attend as before and do nothing."""

from collections.abc import Sequence

import pandas as pd
import torch

from interp.effects.scopes import TIERS
from interp.encode import Batch
from interp.grafts.apart import silenced
from interp.grafts.found import IDLE, found
from interp.heads import Head
from interp.models import Model
from interp.models.record import record


def silence(
    model: Model, batches: Sequence[Batch], heads: Sequence[Head], *, seed: int
) -> pd.DataFrame:
    """What is found of each head before and after its slice of W_O is set to zero.

    One row a head: attention to the source (`raw`), the largest end of the intervals of |effect| at
    the three tiers (`effect`, a share of the gap), and `reading`, each also `_before`;
    `attends_as_before`: on every item and to every key, to the last bit; and whether all `agrees`:
    it attends as before, each effect is exactly 0 with an interval of no width, the reading is one
    of attending without effect, and none of that was so before.
    """
    before = found(model, batches, scopes=TIERS, heads=heads, seed=seed)
    rows = []
    for head in heads:
        planted = silenced(model, head)
        after = found(planted, batches, scopes=TIERS, heads=[head], seed=seed)
        was, now = before.loc[head.label], after.loc[head.label]
        same = all(_attends_alike(model, planted, batch, head) for batch in batches)
        rows.append(
            {
                "head": head.label,
                "raw_before": was["raw"],
                "raw": now["raw"],
                "attends_as_before": same,
                "effect_before": _largest(was),
                "effect": _largest(now),
                "reading_before": was["reading"],
                "reading": now["reading"],
                "agrees": same
                and _largest(now) == 0
                and now["reading"] in IDLE
                and was["reading"] not in IDLE,
            }
        )
    return pd.DataFrame(rows)


def _largest(row: "pd.Series[float]") -> float:
    bounds = [f"effect_{tier}_{end}" for tier in TIERS for end in ("low", "high")]
    return float(row[bounds].astype(float).abs().max())


def _attends_alike(model: Model, planted: Model, batch: Batch, head: Head) -> bool:
    one, other = (
        record(each.plain, batch, keep=("pattern",)).pattern[head.layer][:, head.head]
        for each in (model, planted)
    )
    return torch.equal(one, other)
