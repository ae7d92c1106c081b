"""The plain way: one hooked forward a head, through TransformerLens. The engine's reference."""

from functools import partial
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from interp.effects.scopes import Scope
from interp.encode import Batch
from interp.heads import Head
from interp.models.model import Model


def replace_head(
    z: Float[Tensor, "item pos head d_head"],
    hook: Any,
    *,
    replacement: Float[Tensor, "item pos head d_head"],
    where: Bool[Tensor, "item pos head"],
) -> Float[Tensor, "item pos head d_head"]:
    """A hook for `hook_z`: another tensor's values where `where` says so."""
    return torch.where(where[..., None], replacement, z)


def looped_logits(
    model: Model, batch: Batch, head: Head | None, scope: Scope
) -> Float[Tensor, "item vocab"]:
    """Logits at the query with one head removed, by `run_with_hooks` on the whole batch.

    With `head` None nothing is replaced, and the logits are those of a forward without hooks to
    the last bit.
    """
    bridge = model.bridge
    layer = 0 if head is None else head.layer
    names = {name: f"blocks.{layer}.attn.hook_{name}" for name in ("z", "v", "pattern")}
    with torch.inference_mode():
        _, cache = bridge.run_with_cache(batch.ids, names_filter=list(names.values()))
        z = cache[names["z"]]
        replacement = z[batch.donor]
        if scope is Scope.EDGE:
            replacement = z + _edge_change(cache[names["pattern"]], cache[names["v"]], batch)
        where = torch.zeros(z.shape[:3], dtype=torch.bool)
        if head is not None and scope is Scope.EVERYWHERE:
            where[:, :, head.head] = True
        elif head is not None:
            where[torch.arange(len(batch)), batch.query, head.head] = True
        hook = partial(replace_head, replacement=replacement, where=where)
        logits: Tensor = bridge.run_with_hooks(batch.ids, fwd_hooks=[(names["z"], hook)])
    return logits[torch.arange(len(batch)), batch.query]


def _edge_change(
    pattern: Float[Tensor, "item head query key"],
    value: Float[Tensor, "item key kv_head d_head"],
    batch: Batch,
) -> Float[Tensor, "item query head d_head"]:
    """What a query takes over the edge in the counterfactual run, less what it takes here."""
    value = value.repeat_interleave(pattern.shape[1] // value.shape[2], dim=2)
    weights = pattern * batch.edge[:, None, None, :]
    other = pattern[batch.donor] * batch.edge[:, None, None, :]
    given = torch.einsum("ihqk,ikhd->iqhd", weights, value)
    taken = torch.einsum("ihqk,ikhd->iqhd", other, value[batch.donor])
    return taken - given
