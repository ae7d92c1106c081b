"""Syntactic heads: those that find the other end of a dependency more often than any offset."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float

from interp.encode_text import TextBatch, all_items, encode_texts
from interp.heads import Head
from interp.items import ScoringItem
from interp.measures.held_out import every_second_document
from interp.measures.selection import selections
from interp.measures.text_controls import best_offset
from interp.models.model import Model
from interp.stats import max_t, mean_interval

LONGEST = 256
LEAST_ITEMS = 40


def syntactic_scores(
    model: Model, items: Sequence[ScoringItem], *, n_least: int = LEAST_ITEMS, seed: int = 0
) -> pd.DataFrame:
    """How much more often than a fixed offset each head finds the other end of each relation.

    One row a head and relation: `relation` (with the direction in which it is asked), `layer`,
    `head`, `label`, `accuracy` (of all words but the query and special ones, how often the source
    gets most; 0 to 1), `offset` and `offset_accuracy` (the best fixed offset), and `advantage`, the
    difference, with its 95 % interval over documents `low`, `high`, and `p`, that it is 0, adjusted
    over all heads and relations (max-T among heads, Bonferroni among relations). The offset is
    chosen on every second document; all is counted on the others. A causal model is asked where the
    source stands before the query alone. Relations with fewer than `n_least` items in either half
    are left out.

    Args:
        items: from `interp.tasks.readers.dependencies`; labels say relation and direction.

    Raises:
        ValueError: no relation has so many items.

    Source: Clark et al. 2019, arXiv:1906.04341, section 4.2; their offset is chosen and counted on
    the same items, and their head the best of all.
    """
    seen = [item for item in items if not model.is_causal or item.labels["order"] == "before"]
    batches = encoded(model, seen)
    asked = [_name(item) for item in all_items(batches)]
    found = selections(
        model.plain, batches, query_aggregate="last" if model.is_causal else "mean"
    ).open.numpy()
    chooses = every_second_document(batches)
    tables = []
    for relation in dict.fromkeys(asked):
        is_asked = np.array(asked) == relation
        chosen_on, counted_on = is_asked & chooses, is_asked & ~chooses
        if min(chosen_on.sum(), counted_on.sum()) < n_least:
            continue
        tables.append(_of_relation(model, batches, relation, found, chosen_on, counted_on, seed))
    if not tables:
        raise ValueError(
            f"no relation has {n_least} items in either half of the documents; give more sentences."
        )
    table = pd.concat(tables, ignore_index=True)
    return table.assign(p=(len(tables) * table["p"]).clip(upper=1))


def encoded(model: Model, items: Sequence[ScoringItem]) -> tuple[TextBatch, ...]:
    """The items under the model's prefix, those that do not fit left out."""
    before, after = model.prefix.before, model.prefix.after
    return encode_texts(items, model.tokenizer, before=before, after=after, longest=LONGEST).batches


def _of_relation(
    model: Model,
    batches: Sequence[TextBatch],
    relation: str,
    found: Float[np.ndarray, "item layer head"],
    chosen_on: Bool[np.ndarray, " item"],
    counted_on: Bool[np.ndarray, " item"],
    seed: int,
) -> pd.DataFrame:
    baseline = best_offset(
        batches, chosen_on=chosen_on, counted_on=counted_on, is_causal=model.is_causal
    )
    at_offset = np.array(
        [
            query - baseline.offset in source
            for batch in batches
            for query, source in zip(batch.query, batch.source, strict=True)
        ],
        dtype=float,
    )[counted_on]
    hits = found[counted_on].reshape(counted_on.sum(), -1).astype(float)
    documents = np.array([item.clusters[0] for item in all_items(batches)])[counted_on]
    advantage = hits - at_offset[:, None]
    interval = mean_interval(advantage, [documents])
    return pd.DataFrame(
        {
            "relation": relation,
            "layer": [head.layer for head in model.heads],
            "head": [head.head for head in model.heads],
            "label": [Head(*head).label for head in model.heads],
            "n_items": int(counted_on.sum()),
            "accuracy": hits.mean(axis=0),
            "offset": baseline.offset,
            "offset_accuracy": baseline.accuracy,
            "advantage": interval.estimate,
            "low": interval.low,
            "high": interval.high,
            "p": max_t(advantage, [documents], seed=seed).p_value,
        }
    )


def _name(item: ScoringItem) -> str:
    return f"{item.labels['relation'].split(':')[0]}, {item.labels['direction']}"
