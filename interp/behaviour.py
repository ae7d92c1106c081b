"""What the model does on the items before any head is touched: the gate of every head claim."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Shaped

from interp.contrast import cluster_labels
from interp.effects.engine import unedited
from interp.effects.metrics import LOGIT_DIFFERENCE, Metric
from interp.encode import Batch, positions_of, token_in_context
from interp.items import Item
from interp.measures.representation import representation_margins
from interp.models.model import Model
from interp.models.trie import last_logits
from interp.stats import LEAST_CONTRAST, Clusters, Gate, gate, mean_interval
from interp.tokens import text_ids

LEAST_CLUSTERS = 8
N_REORDERED = 32


def item_table(model: Model, batches: list[Batch], metric: Metric) -> pd.DataFrame:
    """One row an item: where it belongs, and the metric on it and on its counterfactual."""
    frames = []
    for batch in batches:
        clean, corrupt = unedited(model, batch, metric)
        frames.append(_item_frame(batch.items, batch.ids.shape[1], clean, corrupt))
    return pd.concat(frames, ignore_index=True)


def answer_table(model: Model, items: Sequence[Item]) -> pd.DataFrame:
    """The table of `item_table` for the difference of two logits, at the least cost.

    Nothing but the logits of answer and foil is computed, and beginnings that prompts share are
    run once; the rows are in the order of the items.

    Raises:
        ValueError: the model is not a causal language model, or an answer is not one token.
    """
    before = list(model.prefix.before)
    ids = {
        text: before + text_ids(text, model.tokenizer)
        for item in items
        for text in (item.clean_text, item.corrupt_text)
    }
    ends = [_end(item, model.tokenizer) for item in items]
    prompts, columns = [], []
    for item, end in zip(items, ends, strict=True):
        until = item.clean_text if item.query is None else item.clean_text[: item.query.end]
        words = (item.answer_text, item.foil_text)
        answers = [token_in_context(until, word, model.tokenizer) for word in words]
        for text in (item.clean_text, item.corrupt_text):
            prompts.append(ids[text][: len(ids[text]) if end is None else len(before) + end + 1])
            columns.append(answers)
    logits = last_logits(model.plain, prompts, torch.tensor(columns))
    difference = (logits[:, 0] - logits[:, 1]).reshape(len(items), 2)
    n_tokens = [len(ids[item.clean_text]) for item in items]
    return _item_frame(items, n_tokens, difference[:, 0], difference[:, 1])


def representation_table(model: Model, items: Sequence[Item]) -> pd.DataFrame:
    """The table of `item_table` for `representation_margins`, for a model without logits."""
    here, there = representation_margins(model, items)
    n_tokens = [len(text_ids(item.clean_text, model.tokenizer)) for item in items]
    return _item_frame(items, n_tokens, here, there)


def _end(item: Item, tokenizer: Any) -> int | None:
    """The token of the text at which the answer is read; None for its last."""
    if item.query is None:
        return None
    return positions_of(item.query, item.clean_text, tokenizer)[-1]


def _item_frame(
    items: Sequence[Item],
    n_tokens: int | list[int],
    clean: Float[torch.Tensor, " item"],
    corrupt: Float[torch.Tensor, " item"],
) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "item_id": [item.item_id for item in items],
            "pair_id": [item.pair_id for item in items],
            "template_id": [item.template_id for item in items],
            "cluster": [item.clusters[0] for item in items],
            "other_cluster": [item.clusters[-1] for item in items],
            "cell": [_cell(item.labels) for item in items],
            "split": [item.split for item in items],
            "n_tokens": n_tokens,
            "clean": clean.numpy(),
            "corrupt": corrupt.numpy(),
        }
    )


def noise_floor(model: Model, batch: Batch, metric: Metric) -> float:
    """How far the metric moves when the same items stand in another order, in its own unit.

    On the first items of the batch.
    """
    batch = batch.first(N_REORDERED)
    order = torch.arange(len(batch)).flip(0)
    one, _ = unedited(model, batch, metric)
    other, _ = unedited(model, batch.reordered(order), metric)
    return float((one[order] - other).abs().max())


def behaviour(items: pd.DataFrame, *, least: float = LEAST_CONTRAST) -> pd.DataFrame:
    """One row a template: the contrast with its interval, and whether it passes the gate.

    The contrast is the metric on a prompt less the metric, for the same answer, on its
    counterfactual. `share_flipped` is the share of pairs in which it is positive, `accuracy` that
    of items on which the metric itself is; accuracy never gates, because a bias to one slot can
    hold it at a half while every contrast is right.

    Args:
        least: the contrast that a behaviour has at least, in the unit of the metric.
    """
    rows = []
    for template, group in items.groupby("template_id", sort=True):
        contrast = (group["clean"] - group["corrupt"]).to_numpy(float)
        result = _gate(contrast, cluster_labels(group), group["pair_id"].to_numpy(str), least)
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


def _gate(
    contrast: Float[np.ndarray, " item"],
    clusters: Clusters,
    pairs: Shaped[np.ndarray, " item"],
    least: float,
) -> Gate:
    """The gate; without an interval, and not passed, where one lexical frame is in every pair."""
    if all(len(np.unique(way)) > 1 for way in clusters):
        return gate(contrast, clusters, pairs, least=least)
    nothing = float("nan")
    return Gate(
        mean=float(contrast.mean()),
        low=nothing,
        high=nothing,
        p_value=nothing,
        n_clusters=1,
        reason="all pairs share a lexical frame, so nothing is known of others.",
    )


def cells(items: pd.DataFrame, name: str = LOGIT_DIFFERENCE.name) -> pd.DataFrame:
    """One row a template and cell of the design: the metric with its interval, and accuracy.

    Columns of the metric have its name. A cell of fewer than eight clusters has no interval: it
    would say nothing.
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
                name: float(values.mean()),
                f"{name}_low": low,
                f"{name}_high": high,
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
