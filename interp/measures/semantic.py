"""Semantic heads: those that look more from a noun to another, the more alike the two are."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float

from interp.encode_text import TextBatch, all_items
from interp.heads import Head
from interp.items import ScoringItem
from interp.measures.selection import selections
from interp.measures.syntactic import encoded
from interp.models.model import Model
from interp.stats.partial import partial_correlation, partial_correlation_test


def semantic_scores(model: Model, items: Sequence[ScoringItem], *, seed: int = 0) -> pd.DataFrame:
    """How attention from noun to noun goes with their likeness, places and frequency held still.

    One row a head: `layer`, `head`, `label`, `rho` (partial Spearman correlation over pairs, −1 to
    1) with its 95 % interval over documents `low`, `high`, and `p`, adjusted over all heads. The
    likeness of two nouns is the cosine of their static embeddings, the model's own table of tokens,
    less the mean over the nouns at hand. Held still: the places of both, their distance, the number
    of words before the query, and how late either stands in the vocabulary, which is ordered by
    frequency. A causal model is asked where the source stands before the query alone.

    Args:
        items: pairs of nouns (`interp.tasks.parsed.noun_pairs`).

    Raises:
        ValueError: there are no pairs of two documents, or the controls determine the likeness.
    """
    seen = [item for item in items if not model.is_causal or item.labels["order"] == "before"]
    batches = encoded(model, seen)
    attention = selections(
        model.plain, batches, query_aggregate="last" if model.is_causal else "mean"
    ).raw
    values = attention.flatten(1).double().numpy()
    likeness, controls = _likeness(model, batches), _controls(batches)
    documents = [np.array([item.clusters[0] for item in all_items(batches)])]
    found = partial_correlation(values, likeness, controls, documents)
    tested = partial_correlation_test(values, likeness, controls, documents, seed=seed)
    return pd.DataFrame(
        {
            "layer": [head.layer for head in model.heads],
            "head": [head.head for head in model.heads],
            "label": [Head(*head).label for head in model.heads],
            "n_items": len(values),
            "rho": found.estimate,
            "low": found.low,
            "high": found.high,
            "p": tested.p_value,
        }
    )


def _likeness(model: Model, batches: Sequence[TextBatch]) -> Float[np.ndarray, " item"]:
    """The cosine of query and source, mean over all queries and sources taken off."""
    table = model.plain.module.get_input_embeddings().weight.detach().float().cpu()

    def of_word(batch: TextBatch, word: int) -> torch.Tensor:
        ids = torch.tensor([batch.ids[place] for place in batch.groups[word]])
        mean: torch.Tensor = table[ids].mean(0)
        return mean

    pairs = _places(batches)
    queries = torch.stack([of_word(batch, query) for batch, query, _ in pairs])
    sources = torch.stack([of_word(batch, source) for batch, _, source in pairs])
    centre = torch.cat([queries, sources]).mean(0)
    cosine = torch.cosine_similarity(queries - centre, sources - centre, dim=-1)
    likeness: np.ndarray = cosine.double().numpy()
    return likeness


def _controls(batches: Sequence[TextBatch]) -> Float[np.ndarray, "item control"]:
    rows = []
    for batch, query, source in _places(batches):
        ranks = [min(batch.ids[place] for place in batch.groups[word]) for word in (query, source)]
        sizes = [len(batch.groups[word]) for word in (query, source)]
        rows.append([query, source, abs(query - source), query > source, *ranks, *sizes])
    return np.array(rows, dtype=float)


def _places(batches: Sequence[TextBatch]) -> list[tuple[TextBatch, int, int]]:
    return [
        (batch, query, sources[0])
        for batch in batches
        for query, sources in zip(batch.query, batch.source, strict=True)
    ]
