"""What a score must beat: even attention, labels exchanged, a fixed offset, an untrained model."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from interp.encode import Batch, with_few_tokens
from interp.heads import Head
from interp.measures.measure import Measure
from interp.measures.relations import CAS, RAW, SINK_CORRECTED
from interp.models.model import Model
from interp.models.random_init import random_init
from interp.models.record import Record, record
from interp.stats import flip_null

CONTROLS = (
    "measured",
    "label swap",
    "label swap, best head",
    "even",
    "fixed offset",
    "random init",
    "random init, embeddings kept",
)

MOST_TOKENS = 8192
"""Of all prompts together that a random model is given; one run of each model costs as much."""


def even(record: Record) -> Record:
    """The record as if each query attended evenly to all keys it may, the sink left out."""
    batch, rows = record.batch, torch.arange(len(record.batch))
    pattern = []
    for layer, allowed in zip(record.pattern, record.plain.allowed(batch.ids), strict=True):
        keys = allowed[rows, :, batch.query] & ~batch.special[:, None]
        shares = keys / keys.sum(-1, keepdim=True).clamp(min=1)
        pattern.append(shares.to(layer).expand_as(layer))
    return replace(record, pattern=pattern)


def swapped(record: Record) -> Record:
    """The record with source and distractors exchanged: what the role of the source is worth."""
    batch = record.batch
    return replace(record, batch=replace(batch, source=batch.distractor, distractor=batch.source))


def every_second_pair(batches: Sequence[Batch]) -> Bool[np.ndarray, " item"]:
    """Marks the items to choose on: both directions of every second pair, in order of names."""
    pairs = np.array([item.pair_id for batch in batches for item in batch.items])
    return np.isin(pairs, np.unique(pairs)[::2])


def offset_level(batches: Sequence[Batch], chooses: Bool[np.ndarray, " item"]) -> float:
    """How often the source stands at the one best distance, chosen on other items, 0 to 1.

    It is what a head would score that always attends so far back. Distances are in tokens.

    Raises:
        ValueError: there are no items to choose on, or none to count on.
    """
    if chooses.all() or not chooses.any():
        raise ValueError(
            f"a control is chosen on some items and counted on others, got {int(chooses.sum())} of "
            f"{len(chooses)} to choose on; give two pairs or more."
        )
    longest = max(batch.ids.shape[1] for batch in batches)
    hits = np.zeros((len(chooses), 2 * longest))
    start = 0
    for batch in batches:
        item, place = batch.source.nonzero(as_tuple=True)
        offset = batch.query[item] - place
        hits[start + item.numpy(), longest + offset.numpy()] = 1
        start += len(batch)
    best = int(hits[chooses].mean(axis=0).argmax())
    return float(hits[~chooses, best].mean())


def controls(
    model: Model,
    batches: Sequence[Batch],
    measures: Sequence[Measure],
    *,
    n_seeds: int,
    seed: int,
) -> pd.DataFrame:
    """The best head by each measure, and what it must beat; a row a measure and control.

    Columns: `measure`, `control` (see `CONTROLS`), `head`, `value`. The head is chosen on every
    second pair and its mean taken on the others. `value` is in the unit of the measure; `head` says
    whose it is, where it is a head's. `even` is what attention spread over all visible keys gives
    the same head, `label swap` what source and distractors exchanged give it. CAS, whose sign an
    exchange turns whatever the head does, has sign flips for a label swap: the level that the head
    passes by chance, and in `label swap, best head` the one that the best of all heads passes (see
    `flip_null`; `seed` is of the flips); NaN where the items counted share a cluster. `fixed
    offset` is for shares of attention, and NaN for other measures. A random model has its own best
    head chosen likewise, and the value is the mean over `n_seeds`; of long prompts it sees as
    many pairs as have `MOST_TOKENS`.

    Raises:
        ValueError: fewer than two pairs.
    """
    chooses = every_second_pair(batches)
    offset = offset_level(batches, chooses)
    records = [record(model.plain, batch, keep=("pattern",)) for batch in batches]
    seen = with_few_tokens(batches, MOST_TOKENS)
    random, kept = (_random(model, seen, measures, n_seeds, keep) for keep in (False, True))
    tables = []
    for number, measure in enumerate(measures):
        scores = _scores(records, measure)
        head = _best(scores, chooses)
        is_share = measure in (RAW, SINK_CORRECTED)
        if measure is CAS:
            swap, swap_of_best = _flipped(scores, head, batches, chooses, seed)
        else:
            swap = _mean(_scores([swapped(each) for each in records], measure), head, chooses)
            swap_of_best = float("nan")
        values = (
            _mean(scores, head, chooses),
            swap,
            swap_of_best,
            _mean(_scores([even(each) for each in records], measure), head, chooses),
            offset if is_share else float("nan"),
            random[number],
            kept[number],
        )
        heads = [head.label, head.label, "", head.label, "", "", ""]
        tables.append(
            pd.DataFrame(
                {"measure": measure.name, "control": CONTROLS, "head": heads, "value": values}
            )
        )
    return pd.concat(tables, ignore_index=True)


def _random(
    model: Model,
    batches: Sequence[Batch],
    measures: Sequence[Measure],
    n_seeds: int,
    keep_embeddings: bool,
) -> Float[np.ndarray, " measure"]:
    """What the best head of a model that has learned nothing scores by each measure."""
    chooses, values = every_second_pair(batches), []
    for seed in range(n_seeds):
        plain = random_init(model, seed=seed, keep_embeddings=keep_embeddings).plain
        records = [record(plain, batch, keep=("pattern",)) for batch in batches]
        by_measure = [_scores(records, measure) for measure in measures]
        values.append([_mean(scores, _best(scores, chooses), chooses) for scores in by_measure])
    means: Float[np.ndarray, " measure"] = np.mean(values, axis=0)
    return means


def _flipped(
    scores: Float[np.ndarray, "item layer head"],
    head: Head,
    batches: Sequence[Batch],
    chooses: Bool[np.ndarray, " item"],
    seed: int,
) -> tuple[float, float]:
    """What chance gives a head, and the best of all heads, on the items that are counted."""
    of_items = [item.clusters for batch in batches for item in batch.items]
    counted = [labels for labels, is_out in zip(of_items, chooses, strict=True) if not is_out]
    ways = [np.array(labels) for labels in zip(*counted, strict=True)]
    spread = [way for way in ways if len(np.unique(way)) > 1]
    if not spread:
        return float("nan"), float("nan")
    null = flip_null(scores[~chooses], spread, seed=seed)
    return float(null.own[head.layer, head.head]), null.largest


def _scores(records: Sequence[Record], measure: Measure) -> Float[np.ndarray, "item layer head"]:
    parts: list[Tensor] = [measure.of(each) for each in records]
    return torch.cat(parts).double().numpy()


def _best(scores: Float[np.ndarray, "item layer head"], chooses: Bool[np.ndarray, " item"]) -> Head:
    means = np.nanmean(scores[chooses], axis=0)
    layer, head = np.unravel_index(int(np.nanargmax(means)), means.shape)
    return Head(int(layer), int(head))


def _mean(
    scores: Float[np.ndarray, "item layer head"], head: Head, chooses: Bool[np.ndarray, " item"]
) -> float:
    return float(np.nanmean(scores[~chooses, head.layer, head.head]))
