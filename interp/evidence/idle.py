"""Are heads that each do nothing nothing together? Only then are they idle."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from interp.contrast.thresholds import Thresholds
from interp.effects.metrics import LOGIT_DIFFERENCE, Metric
from interp.effects.scopes import AnyScope
from interp.evidence.folds import Fold
from interp.evidence.removal import removal
from interp.heads import Head
from interp.models.model import Model

TOTAL = "total"
_TWO_ONE_SIDED = 0.9
"""Two one-sided tests at 5 % succeed where the 90 % interval lies within the bound."""


def idle_together(
    model: Model,
    folds: Sequence[Fold],
    heads: Sequence[Head],
    *,
    scope: AnyScope,
    thresholds: Thresholds,
    metric: Metric = LOGIT_DIFFERENCE,
) -> pd.DataFrame:
    """Heads that would each be called idle, removed together: in total, and layer by layer.

    Many heads that each do next to nothing can do much together, or make up for one another; then
    none of them is idle. One row a set: `set` (`"total"`, `"layer 3"`), `n_heads`, `effect` (share
    of m_clean − m_∅) with its 95 % interval `low`, `high`, and `bound`: what so many heads may do
    and still be nothing, `thresholds.nothing × √n_heads` and at most `thresholds.matters`. It
    `holds` where two one-sided tests show, at 5 %, that the effect lies within the bound.

    Args:
        folds: see `mean_folds`.

    Raises:
        ValueError: there is no head, the removal of all heads of the model takes nothing away, or
            see `joint`.
    """
    if not heads:
        raise ValueError("expected at least one head that would be called idle, got none.")
    layers = sorted({head.layer for head in heads})
    sets: dict[str, Sequence[Head]] = {TOTAL: sorted(set(heads))}
    sets |= {f"layer {layer}": [h for h in sets[TOTAL] if h.layer == layer] for layer in layers}
    found = removal(model, folds, sets, scope=scope, metric=metric)
    values = found.effects.to_numpy(float)
    share = found.share(values)
    within = found.share(values, confidence=_TWO_ONE_SIDED)
    n_heads = np.array([len(each) for each in sets.values()])
    bound = np.minimum(thresholds.nothing * np.sqrt(n_heads), thresholds.matters)
    return pd.DataFrame(
        {
            "set": list(sets),
            "n_heads": n_heads,
            "effect": share.estimate,
            "low": share.low,
            "high": share.high,
            "bound": bound,
            "holds": (-bound <= within.low) & (within.high <= bound),
        }
    )
