"""All that is said of a model's heads without a task: patterns, circuits, copying, retrieval."""

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from interp.measures.battery import battery
from interp.measures.circuits import circuits
from interp.measures.copying import eigenvalue_copying, empirical_copying, name_copying
from interp.measures.repeats import Repeats
from interp.measures.retrieval import needles, retrieval
from interp.models.model import Model
from interp.progress import Progress, silent
from interp.tasks import build

N_NAMES = 16  # pairs; in half of them the answer is a name
N_SAMPLE = 25


@dataclass(frozen=True, kw_only=True)
class Overview:
    """A model's heads without a task.

    Attributes:
        table: a row a head: `layer`, `head`, `label`, the columns of `battery` and of `circuits`;
            `copying` and `copying_effective` (by eigenvalues), `copying_empirical`, all −1 to 1;
            `name_copying` and `negative_name_copying`, shares of names; `retrieval`, a share of
            words. NaN where undefined.
        undefined: a row for each score that the model has not: `score` and the `reason`.
    """

    table: pd.DataFrame
    undefined: pd.DataFrame


def overview(model: Model, repeats: Repeats, *, progress: Progress = silent) -> Overview:
    """Every task-free score of every head (see `Overview`), on random tokens and on names.

    Retrieval is teacher-forced; `interp.measures.retrieval` has the generated one.
    """
    plain = model.plain

    def names(sign: int) -> Float[Tensor, "layer head"]:
        items = build("coreference", model.tokenizer, n_pairs=N_NAMES, seed=0)
        return name_copying(plain, model.encode(items), sign=sign).mean(0)

    scores: dict[str, Callable[[], Float[Tensor, "layer head"]]] = {
        "copying": lambda: eigenvalue_copying(plain, effective=False),
        "copying_effective": lambda: eigenvalue_copying(plain, effective=True),
        "copying_empirical": lambda: empirical_copying(
            plain, repeats.ids[:, : 1 + min(N_SAMPLE, repeats.period)], 1
        ).nanmean(0),
        "name_copying": lambda: names(1),
        "negative_name_copying": lambda: names(-1),
        "retrieval": lambda: retrieval(model, needles(model)).scores.nanmean(0),
    }
    with progress(f"heads of {model.name}", len(scores) + 2) as advance:
        table = battery(model, repeats)
        advance(1)
        table = table.merge(circuits(plain), on=["layer", "head", "label"], validate="1:1")
        advance(1)
        undefined = []
        for name, score in scores.items():
            try:
                values = score()
            except ValueError as error:  # of a vocabulary, a tokenizer or a family
                undefined.append((name, str(error)))
                values = torch.full((model.n_layers, model.n_heads), torch.nan)
            table[name] = values.flatten().double().numpy()
            advance(1)
    reasons = pd.DataFrame(undefined, columns=["score", "reason"], dtype="str")
    return Overview(table=table, undefined=reasons)
