"""What a run says of every head: the one place in which grafts meet verdicts."""

from collections.abc import Sequence

import pandas as pd

from interp.behaviour import item_table
from interp.contrast import (
    NEITHER,
    NO_EFFECT,
    SILENT,
    Thresholds,
    cluster_labels,
    observations,
    verdicts,
)
from interp.effects.engine import sweep
from interp.effects.metrics import LOGIT_DIFFERENCE
from interp.effects.scopes import Scope
from interp.encode import Batch
from interp.heads import Head
from interp.measures.relations import chance, relation_scores
from interp.models import Model
from interp.models.record import record
from interp.stats import ratio_interval

THRESHOLDS = Thresholds()
IDLE = (NO_EFFECT,)
"""The readings of a head that attends and has no effect."""
UNINVOLVED = (NEITHER,)
"""The readings of a head that neither attends nor matters."""
ACTING = (SILENT,)
"""The readings of a head that matters and does not attend."""


def found(
    model: Model,
    batches: Sequence[Batch],
    *,
    scopes: Sequence[Scope] = (Scope.QUERY,),
    heads: Sequence[Head] | None = None,
    seed: int,
) -> pd.DataFrame:
    """The verdicts of heads by label, as `interp.contrast.verdicts` gives them in any run.

    Args:
        heads: those that are tested together; all when None.
    """
    scores = [relation_scores(record(model.plain, batch, keep=("pattern",))) for batch in batches]
    data = observations(
        pd.concat(scores),
        sweep(model, batches, scopes=scopes, heads=heads),
        item_table(model, list(batches), LOGIT_DIFFERENCE),
    )
    table = verdicts(data, THRESHOLDS, seed=seed, chance=chance(list(batches)))
    return table.set_index("label")


def bounds(model: Model, batches: Sequence[Batch], head: Head) -> tuple[float, float]:
    """The interval of one head's effect at the query, a share of the gap, as `found` has it.

    Neither attention nor other heads are looked at, so it costs next to nothing beside `found`.
    """
    table = sweep(model, batches, scopes=[Scope.QUERY], heads=[head])
    frames = [item.clusters for batch in batches for item in batch.items]
    labels = pd.DataFrame([(each[0], each[-1]) for each in frames])
    labels.columns = ["cluster", "other_cluster"]
    interval = ratio_interval(
        (table["intact"] - table["edited"]).to_numpy(float)[:, None],
        (table["intact"] - table["corrupt"]).to_numpy(float),
        cluster_labels(labels),
    )
    return float(interval.low[0]), float(interval.high[0])
