"""What a sweep will take, before it is begun: rows, tokens, time, memory."""

import time
from collections.abc import Sequence

import pandas as pd
import torch

from interp.effects.baselines import Baseline, Resample
from interp.effects.pieces import limits, pieces
from interp.effects.scopes import TIERS, AnyScope, as_scope
from interp.encode import Batch
from interp.models.model import Model
from interp.models.routes import route

_RESAMPLE = Resample()
_PROBE = (16, 16)


def plan(
    model: Model,
    batches: Sequence[Batch],
    *,
    scopes: Sequence[AnyScope | str] = TIERS,
    baseline: Baseline = _RESAMPLE,
    memory: int | None = None,
) -> pd.DataFrame:
    """One row a batch and scope, for all heads of the model.

    `scope`, `items`, `tokens` (of all prompts), `nodes` (distinct prefixes that are run intact),
    `rows` that each head computes again, `pieces`, `seconds` that it is expected to take here (from
    one forward of 256 tokens, so within a factor of two), `memory_mb` of the largest piece by an
    upper bound, and the `route`.

    Raises:
        ValueError: see `sweep`.
    """
    within, rate = limits(model.plain, memory), _seconds_a_row(model)
    n_variants = len(model.heads)
    layers_run = sum(model.n_layers - head.layer for head in model.heads)
    rows = []
    for batch in batches:
        for scope in map(as_scope, scopes):
            cut = list(pieces(model.plain, batch, scope, baseline, n_variants, within))
            n_nodes = sum(len(piece.work.start.grown) for piece in cut)
            n_rows = sum(piece.work.n_rows for piece in cut)
            rows.append(
                {
                    "scope": str(scope),
                    "items": len(batch),
                    "tokens": batch.ids.numel(),
                    "nodes": n_nodes,
                    "rows": n_rows,
                    "pieces": len(cut),
                    "seconds": rate * (n_nodes * model.n_layers + n_rows * layers_run),
                    "memory_mb": max(piece.bytes for piece in cut) / 1e6,
                    "route": str(route(model.plain)),
                }
            )
    return pd.DataFrame(rows)


def _seconds_a_row(model: Model) -> float:
    """Time of one row in one layer, from the second of two forwards."""
    ids = torch.full(_PROBE, model.config.vocab_size // 2)
    seconds = 0.0
    with torch.inference_mode():
        for _ in range(2):
            start = time.perf_counter()
            model.plain.last_block(ids)
            seconds = time.perf_counter() - start
    return seconds / (ids.numel() * model.n_layers)
