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

from interp.effects.baselines import Baseline, Mean, PositionMean, Renormalised, Zero
from interp.effects.given import Given
from interp.effects.scopes import AnyScope, edge_keys, edited_positions, is_edge
from interp.encode import Batch
from interp.heads import Head
from interp.models.bridge import logits_of
from interp.models.model import Model


def replace_heads(
    z: Float[Tensor, "item pos head d_head"],
    hook: Any,
    *,
    replacement: Float[Tensor, "item pos head d_head"],
    where: Bool[Tensor, "item pos head"],
) -> Float[Tensor, "item pos head d_head"]:
    """A hook for `hook_z`: another tensor's values where `where` says so.

    Both may be on another device than z, such as a cache that was moved to the CPU.
    """
    return torch.where(where.to(z.device)[..., None], replacement.to(z.device), z)


def looped_logits(
    model: Model,
    batch: Batch,
    heads: Sequence[Head],
    scope: AnyScope,
    baseline: Baseline,
) -> Float[Tensor, "item column"]:
    """Logits at the query with heads removed together (see `Looped`)."""
    return Looped(model, batch, scope, baseline, [head.layer for head in heads]).logits(heads)


class Looped:
    """A batch on which heads are removed by `run_with_hooks`, all of it, one forward at a time.

    Args:
        layers: those whose heads will be removed; what is put in is made once, from one cache.
    """

    def __init__(
        self,
        model: Model,
        batch: Batch,
        scope: AnyScope,
        baseline: Baseline,
        layers: Sequence[int],
    ) -> None:
        self.model, self.batch = model, batch
        self._scope = scope
        self._places = edited_positions(scope, batch)
        self._instead: dict[int, Tensor] = {}
        self.giving: dict[str, Tensor] = {}
        for layer in sorted(set(layers)):
            cache = _Cached(model, batch, layer)
            self._instead[layer] = _replacement(cache, batch, scope, baseline, layer)
            self.giving[_point(layer)] = self._instead[layer]

    def logits(self, heads: Sequence[Head]) -> Float[Tensor, "item column"]:
        """Logits at the query with heads removed together; last states where there is no head.

        With no head nothing is replaced, and they are those of a forward without hooks to the last
        bit.

        Raises:
            ValueError: edges of heads in several layers.
        """
        layers = sorted({head.layer for head in heads})
        if is_edge(self._scope) and len(layers) > 1:
            raise ValueError("the plain loop removes edges of one layer at a time.")
        hooks = []
        for layer in layers or sorted(self._instead)[:1]:
            instead = self._instead[layer]
            where = torch.zeros(instead.shape[:3], dtype=torch.bool)
            for head in heads:
                if head.layer == layer:
                    where[:, :, head.head] = self._places
            hooks.append((_point(layer), partial(replace_heads, replacement=instead, where=where)))
        with torch.inference_mode():
            output = self.model.bridge.run_with_hooks(
                self.batch.ids.to(self.model.plain.module.device), fwd_hooks=hooks
            )
        given = output if isinstance(output, Tensor) else logits_of(output)
        return given[torch.arange(len(self.batch)), self.batch.query].cpu()


def _point(layer: int) -> str:
    return f"blocks.{layer}.attn.hook_z"


class _Cached:
    """One layer of the bridge's intact run; values as many as there are query heads."""

    def __init__(self, model: Model, batch: Batch, layer: int) -> None:
        names = {name: f"blocks.{layer}.attn.hook_{name}" for name in ("z", "v", "pattern")}
        with torch.inference_mode():
            _, cache = model.bridge.run_with_cache(
                batch.ids.to(model.plain.module.device), names_filter=list(names.values())
            )
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
        return baseline.z[layer].to(cache.z.device).expand_as(cache.z)
    if isinstance(baseline, PositionMean):
        length = batch.ids.shape[1]
        rows = [baseline.row_of[item.template_id, length] for item in batch.items]
        return torch.stack([baseline.z[layer][row : row + length] for row in rows])
    if isinstance(baseline, Given):
        rows = [baseline.row_of[item.item_id] for item in batch.items]
        return baseline.z[layer][rows].to(cache.z.device).expand_as(cache.z)
    if isinstance(baseline, Zero):
        return torch.zeros_like(cache.z)
    raise ValueError(
        f"the plain loop does not know what {baseline.name!r} puts in; give one of the baselines "
        "of interp.effects."
    )


def _edge(
    cache: _Cached,
    keys: Bool[Tensor, "item pos"],
    donor: Tensor | None,
    baseline: Baseline,
) -> Float[Tensor, "item pos head d_head"]:
    """z without what it takes over the edge, with the donor's there instead, or renormalised."""
    on_edge = keys.to(cache.pattern.device)[:, None, None, :]
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
