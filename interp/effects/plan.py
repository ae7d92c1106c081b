"""What a sweep will take, before it is begun: rows, tokens, time, memory."""

import time
from collections.abc import Sequence

import pandas as pd
import torch

from interp.effects.baselines import Baseline, Resample
from interp.effects.engine import singles
from interp.effects.parts import Removals, parts
from interp.effects.pieces import limits, pieces
from interp.effects.scopes import TIERS, AnyScope, as_scope
from interp.encode import Batch
from interp.models.model import Model
from interp.models.routes import route
from interp.shards import COST_A_SHARD

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
    `rows` that each head computes again, `shards` (see `interp.shards`), `seconds` that it is
    expected to take here (from one forward of 256 tokens, so within a factor of two), `memory_mb`
    of the largest piece by an upper bound, and the `route`.

    Raises:
        ValueError: see `sweep`.
    """
    within, rate = limits(model.plain, memory), _seconds_a_row(model)
    sets = singles(model, model.heads)
    layers_run = model.n_layers - sets.any(2).int().argmax(1)
    rows = []
    for batch in batches:
        for scope in map(as_scope, scopes):
            removals = Removals(batch=batch, scope=scope, baseline=baseline, metrics=(), sets=sets)
            shards = parts(model, removals, within, cost=COST_A_SHARD)
            cut = [
                (piece, layers_run[part.variants])
                for part in shards
                for piece in pieces(
                    model.plain, batch, part.items, scope, baseline, len(part.variants), within
                )
            ]
            n_nodes = sum(len(piece.work.start.grown) for piece, _ in cut)
            rows_run = sum(piece.work.n_rows * int(run.sum()) for piece, run in cut)
            rows.append(
                {
                    "scope": str(scope),
                    "items": len(batch),
                    "tokens": batch.ids.numel(),
                    "nodes": n_nodes,
                    "rows": round(rows_run / int(layers_run.sum())),
                    "shards": len(shards),
                    "seconds": rate * (n_nodes * model.n_layers + rows_run),
                    "memory_mb": max(piece.bytes for piece, _ in cut) / 1e6,
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
