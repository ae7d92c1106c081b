"""Where what a head brings comes from: key by key, and from the source to where else."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from interp.effects.given import Given
from interp.effects.metrics import LOGIT_DIFFERENCE, Metric
from interp.effects.scopes import Scope, edge_keys
from interp.encode import Batch
from interp.evidence.resampled import Resampled, require_heads, resampled, together
from interp.evidence.taking import Taking, taking
from interp.heads import Head
from interp.models.model import Model

SOURCE, DISTRACTOR, OTHER, REST = "source", "distractor", "other", "rest"
QUERY, EVERYWHERE, SOURCE_ANYWHERE = "query", "everywhere", "source, anywhere"
AT_QUERY = (SOURCE, DISTRACTOR, OTHER, REST)
"""The keys of a query in four parts, which leave none out and share none."""


def where_from(
    model: Model,
    batches: Sequence[Batch],
    heads: Sequence[Head],
    *,
    everywhere: bool,
    metric: Metric = LOGIT_DIFFERENCE,
) -> pd.DataFrame:
    """Each head's effect by the keys from which it takes what matters, all by resample.

    One row a head and `part`: `layer`, `head`, `part`, `effect` (share of the gap) with its 95 %
    interval `low`, `high`, `of_query` (as a share of the effect at the query; NaN where that is not
    told from 0), and `n_before`: how many positions before the query the part lies, for `other`.

    `query`: all that the head gives there. Of it, each by itself exchanged with the counterfactual:
    `source` (the keys of the edge, as in `Scope.EDGE`), `distractor` (distractors that are no
    source on either side), `other` (of all further keys that are no special token, the one that
    item and counterfactual together attend to most), `rest`. Their outputs add up; their effects
    need not.
    `everywhere`: all that the head gives, at every position. `source, anywhere`: what any position
    takes from the source. A silent head that acts there relays the source to a later reader; one
    that acts everywhere and not so is upstream in another way, such as by what it does to a key.

    Args:
        everywhere: whether the prompts are short enough for removals at every position.

    Raises:
        ValueError: there is no head, an item names no source, or see `joint`.
    """
    require_heads(heads)
    names = [QUERY, *AT_QUERY, *([EVERYWHERE, SOURCE_ANYWHERE] if everywhere else [])]
    parts: dict[str, list[Resampled]] = {name: [] for name in names}
    places: list[Tensor] = []
    for batch in batches:
        layers = {head.layer for head in heads}
        at_query = taking(model.plain, batch, layers, everywhere=False)
        keys = {layer: _keys(batch, taken) for layer, taken in at_query.items()}
        places.append(_n_before(batch, heads, keys))
        parts[QUERY].append(resampled(model, batch, heads, scope=Scope.QUERY, metric=metric))
        for name in AT_QUERY:
            z = {layer: taken.exchanged(keys[layer][name]) for layer, taken in at_query.items()}
            parts[name].append(_given(model, batch, heads, name, z, Scope.QUERY, metric))
        if everywhere:
            parts[EVERYWHERE].append(
                resampled(model, batch, heads, scope=Scope.EVERYWHERE, metric=metric)
            )
            source = edge_keys(Scope.EDGE, batch)[:, None, None].float()
            z = {
                layer: taken.exchanged(source)
                for layer, taken in taking(model.plain, batch, layers, everywhere=True).items()
            }
            parts[SOURCE_ANYWHERE].append(
                _given(model, batch, heads, SOURCE_ANYWHERE, z, Scope.EVERYWHERE, metric)
            )
    found = {name: together(part) for name, part in parts.items()}
    n_before = torch.cat(places).numpy()
    return pd.concat(
        [_rows(heads, name, found, n_before) for name in names], ignore_index=True
    ).sort_values(["layer", "head"], kind="stable", ignore_index=True)


def _given(
    model: Model,
    batch: Batch,
    heads: Sequence[Head],
    name: str,
    z: dict[int, Float[Tensor, "item pos head d_head"]],
    scope: Scope,
    metric: Metric,
) -> Resampled:
    row_of = {item.item_id: row for row, item in enumerate(batch.items)}
    given = Given(name=f"resample, {name}", row_of=row_of, z=z)
    return resampled(model, batch, heads, scope=scope, baseline=given, metric=metric)


def _keys(batch: Batch, taken: Taking) -> dict[str, Float[Tensor, "item #head 1 key"]]:
    """The four parts of the keys, for each head."""
    source = edge_keys(Scope.EDGE, batch)
    distractor = (batch.distractor | batch.distractor[batch.donor]) & ~source
    left = ~(source | distractor | batch.special)
    attended = (taken.own + taken.donor)[:, :, 0]
    most = attended.masked_fill(~left[:, None], -1).argmax(-1, keepdim=True)
    other = torch.zeros_like(attended).scatter(2, most, 1.0)
    other = other * (left[:, None] & (attended > 0))
    first = {SOURCE: source[:, None].float(), DISTRACTOR: distractor[:, None].float()}
    rest = 1 - first[SOURCE] - first[DISTRACTOR] - other
    return {name: part[:, :, None] for name, part in {**first, OTHER: other, REST: rest}.items()}


def _n_before(
    batch: Batch, heads: Sequence[Head], keys: dict[int, dict[str, Tensor]]
) -> Float[Tensor, "item head"]:
    """How far before the query the other key lies; NaN where there is none."""
    columns = []
    for head in heads:
        other = keys[head.layer][OTHER][:, head.head, 0]
        has_other: Bool[Tensor, " item"] = other.any(1)
        distance = (batch.query - other.argmax(1)).float()
        columns.append(torch.where(has_other, distance, torch.nan))
    return torch.stack(columns, dim=1)


def _rows(
    heads: Sequence[Head],
    name: str,
    found: dict[str, Resampled],
    n_before: Float[np.ndarray, "item head"],
) -> pd.DataFrame:
    share = found[name].share()
    places = [_most_common(column) if name == OTHER else np.nan for column in n_before.T]
    return pd.DataFrame(
        {
            "layer": [head.layer for head in heads],
            "head": [head.head for head in heads],
            "part": name,
            "effect": share.estimate,
            "low": share.low,
            "high": share.high,
            "of_query": found[name].relative_to(found[QUERY])["estimate"],
            "n_before": places,
        }
    )


def _most_common(values: Float[np.ndarray, " item"]) -> float:
    known, counts = np.unique(values[~np.isnan(values)], return_counts=True)
    return float(known[counts.argmax()]) if len(known) else np.nan
