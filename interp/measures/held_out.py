"""The best head in natural text: chosen on some documents, counted on others, with controls."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float

from interp.encode_text import TextBatch, all_items
from interp.heads import Head
from interp.measures.selection import Selections, selections
from interp.measures.text_controls import (
    best_offset,
    chance_among,
    chance_open,
    nearest_candidate,
)
from interp.models.model import Model
from interp.models.random_init import random_init
from interp.progress import Progress, silent
from interp.stats import mean_interval

Choice = Literal["open", "among"]
CHOICES: tuple[Choice, ...] = ("open", "among")


def every_second_document(batches: Sequence[TextBatch]) -> Bool[np.ndarray, " item"]:
    """Marks the items to choose on: those of every second document, in the order of their names."""
    documents = _documents(batches)
    return np.isin(documents, np.unique(documents)[::2])


def best_heads(
    model: Model,
    batches: Sequence[TextBatch],
    relations: Sequence[str],
    *,
    n_seeds: int,
    progress: Progress = silent,
) -> pd.DataFrame:
    """The best head for each relation and all that it must beat, on the documents held out.

    Two rows a relation, by `choice`: among all words (`open`), or `among` the candidates.

    - `head`, `accuracy` with its 95 % interval over documents: chosen on every second document, on
      `n_chosen_on` items, and counted on the others, `n_items`.
    - `offset`, `offset_accuracy`: the best fixed offset, chosen and counted likewise; `nearest`:
      the nearest candidate; `chance`: even attention over what may be selected.
    - `decoy`: how often, among the candidates, the same head selects the distractor matched with
      the source instead: the label exchanged.
    - `raw`, `sink_mass`, `sink_corrected`: that head's attention to the source.
    - `random_init`, `random_init_most`: mean and greatest, over seeds, of the best head of a model
      of this shape that has learned nothing; `random_embeddings`, `random_embeddings_most` where it
      keeps the trained embeddings. Each has its head chosen likewise.

    Args:
        relations: the name of each item's relation, in the order of the items.
    """
    questions = [
        _Question(name, np.array(relations) == name, choice)
        for name in dict.fromkeys(relations)
        for choice in CHOICES
    ]
    chooses = every_second_document(batches)
    found = _selections(model, batches)
    controls: dict[bool, list[list[float]]] = {False: [], True: []}
    with progress(f"controls of {model.name}", 2 * n_seeds) as advance:
        for keep, of_seeds in controls.items():
            for seed in range(n_seeds):
                control = random_init(model, seed=seed, keep_embeddings=keep)
                selected = _selections(control, batches)
                of_seeds.append([_accuracy(selected, each, chooses) for each in questions])
                advance(1)
    rows = []
    for number, question in enumerate(questions):
        random, kept = ([of[number] for of in controls[keep]] for keep in (False, True))
        rows.append(
            {"model": model.name}
            | _row(batches, question, found, chooses, is_causal=model.is_causal)
            | {
                "random_init": float(np.mean(random)),
                "random_init_most": float(np.max(random)),
                "random_embeddings": float(np.mean(kept)),
                "random_embeddings_most": float(np.max(kept)),
            }
        )
    return pd.DataFrame(rows)


@dataclass(frozen=True)
class _Question:
    relation: str
    is_asked: Bool[np.ndarray, " item"]
    choice: Choice


def _row(
    batches: Sequence[TextBatch],
    question: _Question,
    found: Selections,
    chooses: Bool[np.ndarray, " item"],
    *,
    is_causal: bool,
) -> dict[str, object]:
    head = _best(found, question, chooses)
    hits = _of(found, question.choice, head)
    chosen_on, counted_on = question.is_asked & chooses, question.is_asked & ~chooses
    chosen_on, counted_on = chosen_on & ~np.isnan(hits), counted_on & ~np.isnan(hits)
    interval = mean_interval(hits[counted_on][:, None], [_documents(batches)[counted_on]])
    offset = best_offset(batches, chosen_on=chosen_on, counted_on=counted_on, is_causal=is_causal)
    is_open = question.choice == "open"
    chance = chance_open(batches, is_causal=is_causal) if is_open else chance_among(batches)

    def mean(values: Float[np.ndarray, " item"]) -> float:
        return float(np.nanmean(values[counted_on]))

    return {
        "relation": question.relation,
        "choice": question.choice,
        "n_chosen_on": int(chosen_on.sum()),
        "n_items": int(counted_on.sum()),
        "head": head.label,
        "accuracy": float(interval.estimate[0]),
        "accuracy_low": float(interval.low[0]),
        "accuracy_high": float(interval.high[0]),
        "offset": offset.offset,
        "offset_accuracy": offset.accuracy,
        "nearest": mean(nearest_candidate(batches)),
        "chance": mean(chance),
        "decoy": mean(_of(found, "decoy", head)),
        "raw": mean(_of(found, "raw", head)),
        "sink_mass": mean(_of(found, "sink_mass", head)),
        "sink_corrected": mean(_of(found, "corrected", head)),
    }


def _accuracy(found: Selections, question: _Question, chooses: Bool[np.ndarray, " item"]) -> float:
    """Of the best head, chosen on some items and counted on the others."""
    hits = _of(found, question.choice, _best(found, question, chooses))
    return float(np.nanmean(hits[question.is_asked & ~chooses]))


def _best(found: Selections, question: _Question, chooses: Bool[np.ndarray, " item"]) -> Head:
    hits = getattr(found, question.choice).numpy()[question.is_asked & chooses]
    means = np.nanmean(hits, axis=0)
    layer, head = np.unravel_index(int(means.argmax()), means.shape)
    return Head(int(layer), int(head))


def _of(found: Selections, name: str, head: Head) -> Float[np.ndarray, " item"]:
    values: np.ndarray = getattr(found, name)[:, head.layer, head.head].double().numpy()
    return values


def _documents(batches: Sequence[TextBatch]) -> np.ndarray:
    return np.array([item.clusters[0] for item in all_items(batches)])


def _selections(model: Model, batches: Sequence[TextBatch]) -> Selections:
    aggregate: Literal["last", "mean"] = "last" if model.is_causal else "mean"
    return selections(model.plain, batches, query_aggregate=aggregate)
