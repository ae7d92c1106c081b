"""Effects of removals, and their scale: what the removal of all heads takes away."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float

from interp.contrast.observations import cluster_labels
from interp.effects.joint import Sets, joint
from interp.effects.metrics import LOGIT_DIFFERENCE, Metric
from interp.effects.scopes import AnyScope
from interp.evidence.folds import Fold
from interp.items import Item
from interp.models.model import Model
from interp.stats import Clusters, Interval, ratio_interval

_EVERY_HEAD = "every head"


@dataclass(frozen=True, kw_only=True)
class Removal:
    """What the removal of sets of heads does to each item, in the metric's unit.

    Attributes:
        effects: `intact − edited`, a row an item and a column a set.
        whole: the same for all heads of the model at once, m_clean − m_∅.
        clusters: of the items, in the same order.
    """

    effects: pd.DataFrame
    whole: Float[np.ndarray, " item"]
    clusters: Clusters

    def share(
        self, values: Float[np.ndarray, "item *set"], *, confidence: float = 0.95
    ) -> Interval:
        """Effects as a share of m_clean − m_∅ (ratio of means), with a cluster-robust interval.

        Raises:
            ValueError: the removal of all heads takes nothing away (see `ratio_interval`).
        """
        return ratio_interval(values, self.whole, self.clusters, confidence=confidence)


def removal(
    model: Model,
    folds: Sequence[Fold],
    sets: Sets,
    *,
    scope: AnyScope,
    metric: Metric = LOGIT_DIFFERENCE,
) -> Removal:
    """The effect of removing each set of heads, on the items of all folds.

    Raises:
        ValueError: there is no fold, an item is in two of them, or see `joint`.
    """
    tables = [
        joint(
            model, fold.batches, {**sets, _EVERY_HEAD: model.heads}, scope=scope,
            baseline=fold.baseline, metric=metric,
        )
        for fold in folds
    ]  # fmt: skip
    items = items_of(folds)
    table = pd.concat(tables, ignore_index=True)
    table["effect"] = table["intact"] - table["edited"]
    effects = table.pivot(index="item_id", columns="set", values="effect")
    effects = effects.loc[[item.item_id for item in items]]
    return Removal(
        effects=effects[list(sets)],
        whole=effects[_EVERY_HEAD].to_numpy(float),
        clusters=clusters_of(items),
    )


def items_of(folds: Sequence[Fold]) -> list[Item]:
    """The items of all folds.

    Raises:
        ValueError: there is none, or one stands twice.
    """
    items = [item for fold in folds for item in fold.items]
    ids = [item.item_id for item in items]
    if not items or len(set(ids)) < len(ids):
        twice = next((name for name in ids if ids.count(name) > 1), None)
        came = "none" if twice is None else f"{twice} twice"
        raise ValueError(f"expected folds of different items, got {came}; see `mean_folds`.")
    return items


def clusters_of(items: Sequence[Item]) -> Clusters:
    """The clusters of items, one or two ways."""
    return cluster_labels(
        pd.DataFrame(
            {
                "cluster": [item.clusters[0] for item in items],
                "other_cluster": [item.clusters[-1] for item in items],
            }
        )
    )
