"""Each head's direct effect as an exact contrast, and how much of it later parts make good."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from interp.effects.ascent import taken_over_edge
from interp.effects.baselines import Baseline, Renormalised, Resample
from interp.effects.engine import sweep
from interp.effects.metrics import LOGIT_DIFFERENCE, Metric
from interp.effects.pieces import ROWS_A_BATCH
from interp.effects.scopes import AnyScope, Scope, as_scope
from interp.effects.work import Work, prepare
from interp.encode import Batch
from interp.models.direct import answer_direction, head_outputs
from interp.models.frozen_norm import FrozenNorm
from interp.models.model import Model
from interp.models.routes import route
from interp.models.walk import Layer, walk

FROZEN = "logit_difference, norm frozen"
_RESAMPLE = Resample()
_LEAST = 0.05


def direct_effects(
    model: Model,
    batches: Sequence[Batch],
    *,
    scope: AnyScope | str = Scope.QUERY,
    baseline: Baseline = _RESAMPLE,
) -> pd.DataFrame:
    """What each head says to the logits itself, less what it would say after its removal.

    `(o(x) − o(r)) · u / σ`: the head's output at the query, its own less the one that the baseline
    puts there, through the final norm at its intact scale and unembedded, answer less foil. One
    row an observation: `layer`, `head`, `item_id`, `direct`, in logits. It is 0 where the scope
    does not reach the query.

    Raises:
        ValueError: heads do not add up to the logits in this model, or see `sweep`.
    """
    where = as_scope(scope)
    tables = []
    for batch in batches:
        direction = answer_direction(model.plain, batch.answer, batch.foil)
        with torch.inference_mode():
            moved = head_outputs(model, _changes(model, batch, where, baseline))
            final = _final(model, batch)[:, None, None]
            through = FrozenNorm(model.plain.anatomy.final_norm, final)
            found = torch.einsum("ilhd,id->lhi", through(moved), direction)
        n_layers, n_heads, n_items = found.shape
        tables.append(
            pd.DataFrame(
                {
                    "layer": np.repeat(np.arange(n_layers), n_heads * n_items),
                    "head": np.tile(np.repeat(np.arange(n_heads), n_items), n_layers),
                    "item_id": np.tile([item.item_id for item in batch.items], n_layers * n_heads),
                    "direct": found.flatten().float().cpu().numpy(),
                }
            )
        )
    return pd.concat(tables, ignore_index=True)


def self_repair(
    model: Model,
    batches: Sequence[Batch],
    *,
    scope: AnyScope | str = Scope.QUERY,
    baseline: Baseline = _RESAMPLE,
) -> pd.DataFrame:
    """How much of each head's direct effect later parts make good, the final norm free and frozen.

    One row a head, means over items in logits: `layer`, `head`, `direct`, `total` (the effect of
    removal), `total_frozen` (the same with the final norm's scale as in the intact run), `repair`
    = direct − total, `repair_frozen` = direct − total_frozen (without what the norm makes good),
    and `fraction`, 1 − total / direct, where the direct effect is more than 5 % of the gap (NaN
    elsewhere). A head with a direct effect and no total one is redundant, not idle.

    Raises:
        ValueError: as `direct_effects`.

    Source: Rushing & Nanda 2024, arXiv:2402.15390.
    """
    direct = direct_effects(model, batches, scope=scope, baseline=baseline)
    total = sweep(
        model, batches, scopes=[scope], baseline=baseline,
        metric=[LOGIT_DIFFERENCE, frozen_difference(model)],
    )  # fmt: skip
    gap = (total["intact"] - total["corrupt"])[total["metric"] == "logit_difference"].mean()
    effect = total.assign(effect=total["intact"] - total["edited"])
    means = effect.groupby(["layer", "head", "metric"])["effect"].mean().unstack()
    table = direct.groupby(["layer", "head"])[["direct"]].mean()
    table["total"], table["total_frozen"] = means["logit_difference"], means[FROZEN]
    table["repair"] = table["direct"] - table["total"]
    table["repair_frozen"] = table["direct"] - table["total_frozen"]
    speaks = table["direct"] > _LEAST * abs(gap)
    table["fraction"] = (1 - table["total"] / table["direct"]).where(speaks)
    return table.reset_index()


def frozen_difference(model: Model) -> Metric:
    """The logit difference with the final norm's scale as it is in the intact run."""
    plain = model.plain
    device = plain.module.device

    def of(states: Tensor, answer: Tensor, foil: Tensor, intact: Tensor) -> Tensor:
        columns = torch.stack([answer, foil], dim=1).to(device)
        logits = plain.readout(intact.to(device), columns)
        through = FrozenNorm(plain.anatomy.final_norm, intact.to(device))
        lost = through((intact - states).to(device))
        direction = answer_direction(plain, columns[:, 0], columns[:, 1])
        return (logits[:, 0] - logits[:, 1] - (lost * direction).sum(-1)).cpu()

    return Metric(FROZEN, of, needs_vocabulary=False, needs_intact=True, reads="states")


def _changes(
    model: Model, batch: Batch, scope: AnyScope, baseline: Baseline
) -> list[Float[Tensor, "item head d_head"]]:
    """For each layer what leaves each head's z at the query."""
    if isinstance(baseline, Renormalised):
        raise ValueError("the direct effect of a closed edge is not computed; give Zero().")
    shares = route(model.plain).shares_prefixes
    items = torch.arange(len(batch))
    work = prepare(
        model.plain, batch, scope, baseline, items, shares=shares, rows_a_batch=ROWS_A_BATCH
    )
    return [_change(layer, work) for layer in walk(work.start)]


def _change(layer: Layer, work: Work) -> Float[Tensor, "item head d_head"]:
    with torch.inference_mode():
        if work.taking is not None:
            own = taken_over_edge(layer, work, work.taking)
            if work.giving is None:
                return own
            return own - taken_over_edge(layer, work, work.giving)
        own = layer.z[work.intact]
        given = work.baseline.table(layer)[work.label[work.read].clamp(min=0)]
        is_edited = work.edited[work.read][:, None, None]
        return torch.where(is_edited, own - given, torch.zeros_like(own))


def _final(model: Model, batch: Batch) -> Float[Tensor, "item d_model"]:
    with torch.inference_mode():
        return model.plain.last_block(batch.ids)[torch.arange(len(batch)), batch.query]
