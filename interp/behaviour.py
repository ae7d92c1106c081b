"""What the model does on the items before any head is touched: the gate of every head claim."""

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float

from interp.contrast import cluster_labels
from interp.effects.engine import corrupt_metric, intact_metric
from interp.effects.metrics import Metric
from interp.encode import Batch
from interp.models.model import Model
from interp.models.record import record
from interp.stats import Clusters, gate, mean_interval

LEAST_CLUSTERS = 8


def item_table(model: Model, batches: list[Batch], metric: Metric) -> pd.DataFrame:
    """One row an item: where it belongs, and the metric on it and on its counterfactual."""
    frames = []
    for batch in batches:
        recorded = record(model.plain, batch, keep=())
        frames.append(
            pd.DataFrame(
                {
                    "item_id": [item.item_id for item in batch.items],
                    "pair_id": [item.pair_id for item in batch.items],
                    "template_id": [item.template_id for item in batch.items],
                    "cluster": [item.clusters[0] for item in batch.items],
                    "other_cluster": [item.clusters[-1] for item in batch.items],
                    "cell": [_cell(item.labels) for item in batch.items],
                    "n_tokens": batch.ids.shape[1],
                    "clean": intact_metric(recorded, metric).numpy(),
                    "corrupt": corrupt_metric(recorded, metric).numpy(),
                }
            )
        )
    return pd.concat(frames, ignore_index=True)


def noise_floor(model: Model, batch: Batch, metric: Metric) -> float:
    """How far the metric moves when the same items stand in another order, in its own unit."""
    order = torch.arange(len(batch)).flip(0)
    one = intact_metric(record(model.plain, batch, keep=()), metric)
    other = intact_metric(record(model.plain, batch.reordered(order), keep=()), metric)
    return float((one[order] - other).abs().max())


def behaviour(items: pd.DataFrame) -> pd.DataFrame:
    """One row a template: the contrast with its interval, and whether it passes the gate.

    The contrast is the metric on a prompt less the metric, for the same answer, on its
    counterfactual. `share_flipped` is the share of pairs in which it is positive, `accuracy` that
    of items on which the metric itself is; accuracy never gates, because a bias to one slot can
    hold it at a half while every contrast is right.
    """
    rows = []
    for template, group in items.groupby("template_id", sort=True):
        contrast = (group["clean"] - group["corrupt"]).to_numpy(float)
        result = gate(contrast, cluster_labels(group), group["pair_id"].to_numpy(str))
        of_pair = pd.Series(contrast).groupby(group["pair_id"].to_numpy()).mean()
        rows.append(
            {
                "template_id": str(template),
                "n_pairs": group["pair_id"].nunique(),
                "n_clusters": result.n_clusters,
                "n_tokens": int(group["n_tokens"].max()),
                "contrast": result.mean,
                "contrast_low": result.low,
                "contrast_high": result.high,
                "p_value": result.p_value,
                "share_flipped": float((of_pair > 0).mean()),
                "accuracy": float((group["clean"] > 0).mean()),
                "passes": result.passes,
                "reason": result.reason,
            }
        )
    return pd.DataFrame(rows)


def cells(items: pd.DataFrame) -> pd.DataFrame:
    """One row a template and cell of the design: the metric with its interval, and accuracy.

    A cell of fewer than eight clusters has no interval: it would say nothing.
    """
    rows = []
    for (template, cell), group in items.groupby(["template_id", "cell"], sort=True):
        values = group["clean"].to_numpy(float)
        low, high = _bounds(values, cluster_labels(group))
        rows.append(
            {
                "template_id": str(template),
                "cell": str(cell),
                "n_items": len(group),
                "logit_difference": float(values.mean()),
                "logit_difference_low": low,
                "logit_difference_high": high,
                "accuracy": float((values > 0).mean()),
            }
        )
    return pd.DataFrame(rows)


def _bounds(values: Float[np.ndarray, " item"], clusters: Clusters) -> tuple[float, float]:
    if any(len(np.unique(way)) < LEAST_CLUSTERS for way in clusters):
        return float("nan"), float("nan")
    interval = mean_interval(values[:, None], clusters)
    return float(interval.low[0]), float(interval.high[0])


def _cell(labels: dict[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in sorted(labels.items()))
