"""The leagues of a quick run: rank agreement of attention itself, and nothing held out."""

import numpy as np

from interp.contrast import Contender, Observations, league
from interp.contrast.contenders import PATTERN
from interp.encode import Batch
from interp.leagues.of_task import Leagues
from interp.leagues.values import blocks
from interp.models.model import Model

NOT_HELD_OUT = (
    "Nothing is held out in a quick run: heads are ranked by attention and by effect on the same "
    "items; the standard preset orders them on one half and removes them on the other."
)


def leagues_of_patterns(model: Model, batch: Batch, data: Observations, *, seed: int) -> Leagues:
    """How well raw attention, with and without the sink, and CAS or the margin rank the effects.

    Args:
        batch: any of the items, on which the model's parts are found.
    """
    selective = "margin" if np.isnan(data.scores["cas"]).any() else "cas"
    contenders = [
        Contender(name=name, league=PATTERN, by_tier=dict.fromkeys(data.effects, data.scores[name]))
        for name in ("raw", "sink_corrected", selective)
    ]
    ranked = league(contenders, data, blocks=blocks(model, batch), seed=seed)
    n_pairs = len(data.item_ids) // 2
    return Leagues(
        tables={"league": ranked},
        how={"halves": NOT_HELD_OUT, "n_pairs_scored": n_pairs, "n_pairs_floor": 0},
    )
