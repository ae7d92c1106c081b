"""The metrics of any sets of removed heads, on the items of batches."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from interp.effects.ascent import taken_over_edge
from interp.effects.parts import Part, Removals, parts
from interp.effects.pieces import Limits
from interp.effects.scopes import is_edge
from interp.effects.work import prepare
from interp.models.model import Model
from interp.models.routes import route
from interp.models.walk import walk
from interp.progress import Progress, silent
from interp.shards import Result, Shards


class Values(NamedTuple):
    """Metrics on every item: of each variant, of the intact run, of the whole counterfactual."""

    edited: Float[Tensor, "metric variant item"]
    intact: Float[Tensor, "metric item"]
    corrupt: Float[Tensor, "metric item"]


def measure(
    model: Model,
    asked: Sequence[Removals],
    *,
    within: Limits,
    shards: Shards | None = None,
    label: str = "",
    progress: Progress = silent,
) -> list[Values]:
    """Metrics with each set of heads removed at once, for all removals that are asked for.

    Args:
        shards: who makes the parts, and where they are kept; here and nowhere when None.

    Raises:
        ValueError: see `sweep`.
    """
    shards = shards or Shards()
    cut = [parts(model, removals, within, cost=shards.cost) for removals in asked]
    every = [part for of_removals in cut for part in of_removals]
    results = iter(shards.results(model, every, label=label, progress=progress))
    return [_together(some, [next(results) for _ in some]) for some in cut]


def _together(some: Sequence[Part], results: Sequence[Result]) -> Values:
    """All parts of the same removals as one."""
    of = some[0].of
    n_metrics, n_items = len(of.metrics), len(of.batch)
    edited = np.empty((n_metrics, len(of.sets), n_items), np.float32)
    intact, corrupt = np.empty((2, n_metrics, n_items), np.float32)
    for part, result in zip(some, results, strict=True):
        variants, items = part.variants.numpy(), part.items.numpy()
        edited[:, variants[:, None], items] = result["edited"]
        intact[:, items], corrupt[:, items] = result["intact"], result["corrupt"]
    return Values(*map(torch.from_numpy, (edited, intact, corrupt)))


def require_action(model: Model, removals: Removals, found: Values, within: Limits) -> None:
    """Refuse effects that are all 0, unless nothing goes over the edge that was asked for.

    Raises:
        ValueError: no head's removal changed a metric beyond rounding.
    """
    largest = (found.intact[:, None] - found.edited).abs().amax((1, 2))
    if bool((largest > 1e-3 * found.intact.abs().amax(1).clamp(min=1)).all()):
        return
    nothing = torch.zeros(1, model.n_layers, model.n_heads, dtype=torch.bool)
    (again,) = measure(model, [replace(removals, sets=nothing)], within=within)
    noise = (again.edited[:, 0] - found.intact).abs().amax(1)
    sizes = zip(removals.metrics, largest.tolist(), noise.tolist(), strict=True)
    for metric, size, rounding in sizes:
        if size <= 10 * rounding and not _edge_is_empty(model, removals):
            raise ValueError(
                f"removing every head of the model in turn changed no item beyond rounding "
                f"({size:.1g} in {metric.name} against {rounding:.1g} with nothing edited), so "
                "the edits did not act; see that clean and corrupt texts differ, and that the "
                "output projections are not zero."
            )


def _edge_is_empty(model: Model, removals: Removals) -> bool:
    """Whether no head takes anything over the edge, so that there is nothing to remove."""
    if not is_edge(removals.scope):
        return False
    work = prepare(
        model.plain, removals.batch, removals.scope, removals.baseline,
        torch.arange(len(removals.batch)), shares=route(model.plain).shares_prefixes,
        rows_a_batch=1,
    )  # fmt: skip
    assert work.taking is not None
    return all(
        bool(taken_over_edge(layer, work, work.taking).abs().max() <= 1e-5 * layer.z.abs().max())
        for layer in walk(work.start)
    )
