"""The engine against the plain loop, on ablated heads, in the run itself."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from interp.effects.engine import ablated_logits
from interp.effects.metrics import Metric
from interp.effects.plain_loop import looped_logits
from interp.effects.scopes import Scope
from interp.encode import Batch
from interp.guards import attached_hooks
from interp.heads import Head
from interp.models.model import Model
from interp.models.record import record

TOLERANCE = 1e-5
_ALL_LOGITS = Metric("all_logits", lambda logits, answer, foil: logits[:, 0])


@dataclass(frozen=True, kw_only=True)
class Check:
    """How far the engine is from the plain loop, in logits at the query."""

    heads: list[str]
    scopes: list[str]
    n_items: int
    largest_difference: float
    largest_logit: float


def check_against_loop(
    model: Model,
    batch: Batch,
    *,
    heads: Sequence[Head] | None = None,
    scopes: Sequence[Scope] = tuple(Scope),
    n_items: int = 2,
) -> Check:
    """Compare ablated heads with `run_with_hooks`, all logits at the query of the first items.

    Heads default to one in the first, the middle and the last layer. (The intact run alone would
    not show an edit that reaches too few rows.) Hooks that somebody has attached to the bridge stay
    there, and a warning names them: the loop is then not that of the model alone.

    Raises:
        ArithmeticError: they differ by more than 1e-5 of the largest logit.
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
    recorded = record(model.plain, few)
    items = torch.arange(len(few))
    largest_difference = largest_logit = 0.0
    for scope in scopes:
        for head in heads:
            number = torch.full_like(items, head.head)
            ours, _, _ = ablated_logits(
                model, recorded, scope, layer=head.layer, head=number, items=items,
                metric=_ALL_LOGITS,
            )  # fmt: skip
            theirs = looped_logits(model, few, head, scope)
            largest_difference = max(largest_difference, (ours - theirs).abs().max().item())
            largest_logit = max(largest_logit, theirs.abs().max().item())
    check = Check(
        heads=[head.label for head in heads],
        scopes=[str(scope) for scope in scopes],
        n_items=len(few),
        largest_difference=largest_difference,
        largest_logit=largest_logit,
    )
    if largest_difference > TOLERANCE * largest_logit:
        raise ArithmeticError(
            f"the engine differs from the plain loop by {largest_difference:.2g} logits (largest "
            f"logit {largest_logit:.3g}, allowed {TOLERANCE:g} of it) on heads "
            f"{', '.join(check.heads)}; its effects for this model cannot be trusted."
        )
    return check


def _spread(model: Model) -> list[Head]:
    """A head in the first, the middle and the last layer."""
    layers = sorted({0, model.n_layers // 2, model.n_layers - 1})
    return [Head(layer, place % model.n_heads) for place, layer in enumerate(layers)]
