"""The engine against the plain loop, on ablated heads, in the run itself."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from interp.effects.ascent import ascend
from interp.effects.baselines import Baseline, Resample
from interp.effects.pieces import ROWS_A_BATCH
from interp.effects.plain_loop import looped_logits
from interp.effects.scopes import TIERS, AnyScope
from interp.effects.work import prepare
from interp.encode import Batch
from interp.guards import attached_hooks
from interp.heads import Head
from interp.models.model import Model
from interp.models.routes import route

TOLERANCE = {"float32": 1e-5, "float16": 4e-3, "bfloat16": 3e-2}
"""By dtype, as a share of the largest logit: four roundings where a number has few digits."""

_RESAMPLE = Resample()


@dataclass(frozen=True, kw_only=True)
class Check:
    """How far the engine is from the plain loop, in logits at the query."""

    heads: list[str]
    scopes: list[str]
    baseline: str
    route: str
    n_items: int
    largest_difference: float
    largest_logit: float


def check_against_loop(
    model: Model,
    batch: Batch,
    *,
    heads: Sequence[Head] | None = None,
    scopes: Sequence[AnyScope] = TIERS,
    baseline: Baseline = _RESAMPLE,
    n_items: int = 2,
) -> Check:
    """Compare ablated heads with `run_with_hooks`, all logits at the query of the first items.

    Heads default to one in the first, the middle and the last layer. (The intact run alone would
    not show an edit that reaches too few rows.) Hooks that somebody has attached to the bridge stay
    there, and a warning names them: the loop is then not that of the model alone.

    Raises:
        ArithmeticError: they differ by more than `TOLERANCE` of the largest logit.
    """
    attached = attached_hooks(model.bridge)
    if attached:
        warnings.warn(
            f"hooks are attached to the bridge at {', '.join(attached)} and act in the plain loop; "
            "bridge.reset_hooks() removes them.",
            stacklevel=2,
        )
    heads = _spread(model) if heads is None else list(heads)
    few = batch.first(n_items)
    largest_difference = largest_logit = 0.0
    for scope in scopes:
        ours = ablated_logits(model, few, heads, scope, baseline)
        for head, found in zip(heads, ours, strict=True):
            expected = looped_logits(model, few, [head], scope, baseline)
            largest_difference = max(largest_difference, (found - expected).abs().max().item())
            largest_logit = max(largest_logit, expected.abs().max().item())
    check = Check(
        heads=[head.label for head in heads],
        scopes=[str(scope) for scope in scopes],
        baseline=baseline.name,
        route=str(route(model.plain)),
        n_items=len(few),
        largest_difference=largest_difference,
        largest_logit=largest_logit,
    )
    tolerance = TOLERANCE[model.dtype]
    if not largest_difference <= tolerance * largest_logit:
        raise ArithmeticError(
            f"the engine differs from the plain loop by {largest_difference:.2g} logits (largest "
            f"logit {largest_logit:.3g}, allowed {tolerance:g} of it) on heads "
            f"{', '.join(check.heads)}; its effects for this model cannot be trusted."
        )
    return check


def ablated_logits(
    model: Model,
    batch: Batch,
    heads: Sequence[Head],
    scope: AnyScope,
    baseline: Baseline,
) -> Float[Tensor, "head item column"]:
    """All logits at the query (last states without a head), each head removed in turn."""
    sets = torch.zeros(len(heads), model.n_layers, model.n_heads, dtype=torch.bool)
    for number, head in enumerate(heads):
        sets[number, head.layer, head.head] = True
    items = torch.arange(len(batch))
    shares = route(model.plain).shares_prefixes
    work = prepare(
        model.plain, batch, scope, baseline, items, shares=shares, rows_a_batch=ROWS_A_BATCH
    )
    states, _ = ascend(work, sets, rows_a_batch=ROWS_A_BATCH)
    if model.plain.anatomy.unembedding is None:
        return states.cpu()
    with torch.inference_mode():
        logits = model.plain.readout(states.flatten(0, 1), None).cpu()
    return logits.view(len(heads), len(batch), -1)


def _spread(model: Model) -> list[Head]:
    """A head in the first, the middle and the last layer."""
    layers = sorted({0, model.n_layers // 2, model.n_layers - 1})
    return [Head(layer, place % model.n_heads) for place, layer in enumerate(layers)]
