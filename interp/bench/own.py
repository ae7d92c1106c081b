"""Two sweeps of ours on the same items, the time of one beside that of the other."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import torch
from jaxtyping import Int
from torch import Tensor

from interp.bench.clock import timed
from interp.bench.scenarios import batch_of, crossed, unlike
from interp.effects.check import check_against_loop
from interp.effects.engine import sweep
from interp.effects.scopes import Scope
from interp.effects.screening import Screening, screened
from interp.encode import Batch
from interp.models import load
from interp.models.model import Model
from interp.progress import Progress, silent

K, SCREEN, SAMPLE = 20, 0.3, 0.03
"""Leading heads asked for; shares of the heads measured for their attribution, and at random."""
WARM_UP = 4
"""Items of a first run of each side, which is not counted."""


@dataclass(frozen=True, kw_only=True)
class Own:
    """One row.

    Attributes:
        ours, beside: the two sweeps.
        beside_name: what the other is.
        at_most: the time of ours as a multiple of the other's that is aimed at.
        judged: further columns, from what the two gave.
        model: by name.
        prompts: tokens and donors, from the size of the vocabulary and a seed.
    """

    name: str
    ours: Callable[[Model, Batch], Any]
    beside: Callable[[Model, Batch], Any]
    beside_name: str
    at_most: float
    judged: Callable[[Model, Batch, Any, Any], dict[str, float]]
    prompts: Callable[[int, int], Int[Tensor, "item pos"]]
    model: str = "smollm2-135m"


def bench_own(
    rows: Sequence[Own], *, n_rounds: int = 1, progress: Progress = silent
) -> pd.DataFrame:
    """One row a pair of sweeps, timed in turn in one process, on the same items.

    Columns: `scenario`, `heads`, `items`, `tokens` of a prompt; `beside`, what the other sweep is;
    `ours_s` and `beside_s` in seconds, medians over rounds; `times`, ours as a multiple of the
    other, and `at_most` what is aimed at; `ratio`, the other as a multiple of ours, and `wanted`
    the least that is aimed at (the same, the other way round); `threads`. On the edge `difference`,
    the largest from the plain loop's logits on two items, as a share of the largest logit. Where
    heads were screened, `recall`: the share of the exact top 20 by |mean effect| that was measured,
    `top` those that attribution alone put among them, `estimated_recall` what the screening says of
    itself without the exact sweep, and `rank_agreement` of attribution with the exact effects.
    """
    found = []
    for row in rows:
        with progress(row.name, 1) as advance:
            found.append(_row(row, load(row.model), n_rounds))
            advance(1)
    return pd.DataFrame(found)


def _row(row: Own, model: Model, n_rounds: int) -> dict[str, object]:
    batch = batch_of(row.prompts(model.config.vocab_size, 0))
    for warm_up in (row.ours, row.beside):
        warm_up(model, batch.first(WARM_UP))
    ours, beside = [], []
    for _ in range(n_rounds):
        seconds, found = timed(lambda: row.ours(model, batch))
        ours.append(seconds)
        seconds, other = timed(lambda: row.beside(model, batch))
        beside.append(seconds)
    ours_s, beside_s = statistics.median(ours), statistics.median(beside)
    return {
        "scenario": row.name,
        "heads": len(model.heads),
        "items": len(batch),
        "tokens": batch.ids.shape[1],
        "beside": row.beside_name,
        "ours_s": ours_s,
        "beside_s": beside_s,
        "times": ours_s / beside_s,
        "at_most": row.at_most,
        "ratio": beside_s / ours_s,
        "wanted": 1 / row.at_most,
        "threads": torch.get_num_threads(),
        **row.judged(model, batch, found, other),
    }


def swept(scope: Scope) -> Callable[[Model, Batch], pd.DataFrame]:
    """A whole sweep at a scope, resampled from the pair."""
    return lambda model, batch: sweep(model, [batch], scopes=[scope])


def on_the_edge(
    model: Model, batch: Batch, found: pd.DataFrame, other: pd.DataFrame
) -> dict[str, float]:
    """How far the logits of the edge are from the plain loop's."""
    check = check_against_loop(model, batch, scopes=[Scope.EDGE])
    return {"difference": check.largest_difference / check.largest_logit}


def recalled(model: Model, batch: Batch, found: Screening, exact: pd.DataFrame) -> dict[str, float]:
    """How many of the exact top heads were measured, and what the screening says of itself."""
    effect = (exact["intact"] - exact["edited"]).groupby([exact["layer"], exact["head"]]).mean()
    leading = effect.abs().nlargest(found.k).index
    how = found.heads.set_index(["layer", "head"])["measured"].loc[leading]
    return {
        "recall": float((how != "no").mean()),
        "top": float((how == "top").mean()),
        "estimated_recall": found.recall,
        "rank_agreement": found.rank_agreement,
    }


OWN = (
    Own(
        name="edge, resample, 128 pairs of 16 tokens", ours=swept(Scope.EDGE),
        beside=swept(Scope.QUERY), beside_name="our query sweep", at_most=1.3, judged=on_the_edge,
        prompts=unlike(128, 16),
    ),
    Own(
        name="screened (0.3, and 0.03 at random), everywhere, 128 pairs crossed 16 × 8",
        ours=lambda model, batch: screened(model, [batch], screen=SCREEN, sample=SAMPLE, k=K),
        beside=swept(Scope.EVERYWHERE), beside_name="our exact sweep", at_most=1 / 2.5,
        judged=recalled, prompts=crossed,
    ),
)  # fmt: skip
