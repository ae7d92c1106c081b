"""Direct effects where there are any."""

from collections.abc import Sequence

import pandas as pd

from interp.effects.metrics import LOGIT_DIFFERENCE, Metric
from interp.effects.repair import direct_effects
from interp.encode import Batch
from interp.models.model import Model
from interp.models.undefined import UndefinedError


def direct_where_defined(
    model: Model, batches: Sequence[Batch], metric: Metric = LOGIT_DIFFERENCE
) -> pd.DataFrame | None:
    """Each head's direct effect on each item, by a resample from its pair (see `direct_effects`).

    None for another metric than the logit difference, and in models in which heads do not add up
    to the logits.
    """
    if metric is not LOGIT_DIFFERENCE:
        return None
    try:
        return direct_effects(model, batches)
    except UndefinedError:
        return None
