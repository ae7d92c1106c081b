"""The plain way: one hooked forward a head, through TransformerLens. The engine's reference.

Nothing of the engine is in it: whole batches run through the bridge, and what stands instead of a
head's output is taken from the bridge's own cache.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from interp.effects.baselines import Baseline, Mean, PositionMean, Renormalised
from interp.effects.scopes import AnyScope, edge_keys, edited_positions, is_edge
from interp.encode import Batch
from interp.heads import Head
from interp.models.model import Model


def replace_heads(
    z: Float[Tensor, "item pos head d_head"],
    hook: Any,
    *,
    replacement: Float[Tensor, "item pos head d_head"],
    where: Bool[Tensor, "item pos head"],
) -> Float[Tensor, "item pos head d_head"]:
    """A hook for `hook_z`: another tensor's values where `where` says so."""
    return torch.where(where[..., None], replacement, z)


def looped_logits(
    model: Model,
    batch: Batch,
    heads: Sequence[Head],
    scope: AnyScope,
    baseline: Baseline,
) -> Float[Tensor, "item vocab"]:
    """Logits at the query with heads removed together, by `run_with_hooks` on the whole batch.

    With no head nothing is replaced, and the logits are those of a forward without hooks to the
    last bit. On an edge, heads of one layer only.

    Raises:
        ValueError: heads of several layers on an edge.
    """
    if is_edge(scope) and len({head.layer for head in heads}) > 1:
        raise ValueError("the plain loop removes edges of one layer at a time.")
    layers = sorted({head.layer for head in heads}) or [0]
    places = edited_positions(scope, batch)
    hooks = []
    with torch.inference_mode():
        for layer in layers:
            cache = _Cached(model, batch, layer)
            replacement = _replacement(cache, batch, scope, baseline, layer)
            where = torch.zeros(cache.z.shape[:3], dtype=torch.bool)
            for head in heads:
                if head.layer == layer:
                    where[:, :, head.head] = places
            hook = partial(replace_heads, replacement=replacement, where=where)
            hooks.append((f"blocks.{layer}.attn.hook_z", hook))
        logits: Tensor = model.bridge.run_with_hooks(batch.ids, fwd_hooks=hooks)
    return logits[torch.arange(len(batch)), batch.query]


class _Cached:
    """One layer of the bridge's intact run; values as many as there are query heads."""

    def __init__(self, model: Model, batch: Batch, layer: int) -> None:
        names = {name: f"blocks.{layer}.attn.hook_{name}" for name in ("z", "v", "pattern")}
        _, cache = model.bridge.run_with_cache(batch.ids, names_filter=list(names.values()))
        self.z: Float[Tensor, "item pos head d_head"] = cache[names["z"]]
        self.pattern: Float[Tensor, "item head query key"] = cache[names["pattern"]]
        value: Float[Tensor, "item key kv_head d_head"] = cache[names["v"]]
        self.value = value.repeat_interleave(self.z.shape[2] // value.shape[2], dim=2)


def _replacement(
    cache: _Cached, batch: Batch, scope: AnyScope, baseline: Baseline, layer: int
) -> Float[Tensor, "item pos head d_head"]:
    donor = baseline.donors(batch)
    if is_edge(scope):
        return _edge(cache, edge_keys(scope, batch), donor, baseline)
    if donor is not None:
        return cache.z[donor]
    if isinstance(baseline, Mean):
        return baseline.z[layer].expand_as(cache.z)
    if isinstance(baseline, PositionMean):
        length = batch.ids.shape[1]
        rows = [baseline.row_of[item.template_id, length] for item in batch.items]
        return torch.stack([baseline.z[layer][row : row + length] for row in rows])
    return torch.zeros_like(cache.z)


def _edge(
    cache: _Cached,
    keys: Bool[Tensor, "item pos"],
    donor: Tensor | None,
    baseline: Baseline,
) -> Float[Tensor, "item pos head d_head"]:
    """z without what it takes over the edge, with the donor's there instead, or renormalised."""
    on_edge = keys[:, None, None, :]
    if isinstance(baseline, Renormalised):
        left = torch.where(on_edge, 0.0, cache.pattern)
        return _mixed(left / left.sum(-1, keepdim=True).clamp(min=1e-30), cache.value)
    without = cache.z - _mixed(cache.pattern * on_edge, cache.value)
    if donor is None:
        return without
    return without + _mixed(cache.pattern[donor] * on_edge, cache.value[donor])


def _mixed(
    pattern: Float[Tensor, "item head query key"], value: Float[Tensor, "item key head d_head"]
) -> Float[Tensor, "item query head d_head"]:
    return torch.einsum("ihqk,ikhd->iqhd", pattern, value)
