"""What a run says of every head: the one place in which grafts meet verdicts."""

from collections.abc import Sequence

import pandas as pd

from interp.behaviour import item_table
from interp.contrast import (
    Observations,
    Thresholds,
    Verdict,
    cluster_labels,
    observations,
    verdicts,
)
from interp.effects.engine import sweep
from interp.effects.metrics import LOGIT_DIFFERENCE
from interp.effects.scopes import TIERS, Scope
from interp.encode import Batch
from interp.evidence import direct_where_defined, gathered
from interp.heads import Head
from interp.measures.relations import chance, relation_scores
from interp.models import Model
from interp.models.record import record
from interp.stats import ratio_interval

THRESHOLDS = Thresholds()
IDLE = Verdict.IDLE
"""Of a head that attends and does nothing."""
UNINVOLVED = Verdict.NEITHER
"""Of a head that neither attends nor matters."""
ACTING = Verdict.SILENT
"""Of a head that matters and does not attend."""


def found(
    model: Model,
    batches: Sequence[Batch],
    *,
    scopes: Sequence[Scope] = (Scope.QUERY,),
    heads: Sequence[Head] | None = None,
    seed: int,
) -> pd.DataFrame:
    """The verdicts of heads by label, from single removals alone.

    Args:
        heads: those that are tested together; all when None.
    """
    data = _observed(model, batches, scopes, heads)
    table = verdicts(data, THRESHOLDS, seed=seed, chance=chance(list(batches)))
    return table.set_index("label")


def examined(
    model: Model, batches: Sequence[Batch], heads: Sequence[Head], *, seed: int
) -> pd.DataFrame:
    """The verdicts of heads by label at all three tiers, with the evidence of a run."""
    data = _observed(model, batches, TIERS, heads)
    even = chance(list(batches))
    evidence = gathered(model, batches, data, THRESHOLDS, seed=seed, chance=even).heads
    return verdicts(data, THRESHOLDS, evidence=evidence, seed=seed, chance=even).set_index("label")


def _observed(
    model: Model,
    batches: Sequence[Batch],
    scopes: Sequence[Scope],
    heads: Sequence[Head] | None,
) -> Observations:
    scores = [relation_scores(record(model.plain, batch, keep=("pattern",))) for batch in batches]
    return observations(
        pd.concat(scores),
        sweep(model, batches, scopes=scopes, heads=heads),
        item_table(model, list(batches), LOGIT_DIFFERENCE),
        direct_where_defined(model, batches),
    )


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
