"""Families that compute attention in their own code and look nothing up.

Each gets one method of its attention modules bound anew: it computes query, key and value as the
family does, and asks our attention for z. A copy of such a module, which nobody owns, goes on with
the family's own method.
"""

from collections.abc import Callable
from types import MethodType
from typing import Any

import torch
from torch import Tensor, nn

from interp.models.owners import owner_of


def rebind(model: nn.Module) -> bool:
    """Bring our attention into a model that ignores the registry; False if it is none of these."""
    found = False
    for module in model.modules():
        if type(module).__name__ in _METHODS:
            name, method = _METHODS[type(module).__name__]
            setattr(module, name, MethodType(_or_its_own(name, method), module))
            found = True
    return found


def _or_its_own(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """The method where the module has an owner, and that of its class where it has none."""

    def chosen(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
        if owner_of(module) is None:
            return getattr(type(module), name)(module, *args, **kwargs)
        return method(module, *args, **kwargs)

    return chosen


def _gpt_neo(
    module: Any, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None = None
) -> tuple[Tensor, None]:
    """GPT-Neo's scores are not scaled; each layer holds its own causal or local mask."""
    assert attention_mask is not None
    n_query, n_key = attention_mask.shape[-2:]
    mask = module.bias[:, :, n_key - n_query : n_key, :n_key] & _open(attention_mask)
    return _z(module, query, key, value, scale=1.0, mask=mask), None


def _bloom(
    module: Any,
    hidden_states: Tensor,
    residual: Tensor,
    alibi: Tensor,
    attention_mask: Tensor,
    **ignored: Any,
) -> tuple[Tensor, None]:
    """BLOOM adds the residual inside its attention module."""
    query, key, value = module._reshape(module.query_key_value(hidden_states))
    bias = alibi.view(len(query), module.num_heads, 1, -1)
    scale, mask = module.inv_norm_factor, _open(attention_mask)
    z = _z(module, query, key, value, scale=scale, mask=mask, bias=bias)
    return residual + module.dense(_merged(z)), None


def _falcon(
    module: Any,
    hidden_states: Tensor,
    alibi: Tensor | None,
    attention_mask: Tensor,
    position_embeddings: tuple[Tensor, Tensor] | None = None,
    **ignored: Any,
) -> tuple[Tensor, None]:
    """Falcon scales its ALiBi with the scores; it repeats grouped keys, which are taken once."""
    from transformers.models.falcon.modeling_falcon import apply_rotary_pos_emb

    split = module._split_heads(module.query_key_value(hidden_states))
    query, key, value = (part.transpose(1, 2) for part in split)
    step = key.shape[1] // module.num_kv_heads
    key, value = key[:, ::step], value[:, ::step]
    bias = None
    if alibi is not None:
        bias = alibi.view(len(query), module.num_heads, 1, -1) * module.inv_norm_factor
    else:
        assert position_embeddings is not None
        query, key = apply_rotary_pos_emb(query, key, *position_embeddings)
    scale, mask = module.inv_norm_factor, _open(attention_mask)
    z = _z(module, query, key, value, scale=scale, mask=mask, bias=bias)
    return module.dense(_merged(z)), None


def _mpt(
    module: Any,
    hidden_states: Tensor,
    position_bias: Tensor,
    cache: None = None,
    attention_mask: Tensor | None = None,
    **ignored: Any,
) -> tuple[Tensor, None]:
    """MPT's mask is True where a key is closed; its ALiBi is cut from that of the longest text."""
    mixed = module.Wqkv(hidden_states)
    if module.clip_qkv:
        mixed = mixed.clamp(min=-module.clip_qkv, max=module.clip_qkv)
    query, key, value = (
        part.unflatten(-1, (module.n_heads, -1)).transpose(1, 2) for part in mixed.chunk(3, dim=-1)
    )
    bias = position_bias[None, :, :, -key.shape[2] :]
    mask = None if attention_mask is None else ~attention_mask
    z = _z(module, query, key, value, scale=module.softmax_scale, mask=mask, bias=bias)
    return module.out_proj(_merged(z)), None


_METHODS: dict[str, tuple[str, Callable[..., Any]]] = {
    "GPTNeoSelfAttention": ("_attn", _gpt_neo),
    "BloomAttention": ("forward", _bloom),
    "FalconAttention": ("forward", _falcon),
    "MptAttention": ("forward", _mpt),
}


def _z(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    scale: float,
    mask: Tensor | None,
    bias: Tensor | None = None,
) -> Tensor:
    owner = owner_of(module)
    assert owner is not None
    return owner.answer(module, query, key, value, {"scale": scale, "mask": mask, "bias": bias})


def _open(mask: Tensor) -> Tensor:
    """True where a query may attend, of a mask that may be additive."""
    return mask if mask.dtype == torch.bool else mask > torch.finfo(mask.dtype).min


def _merged(z: Tensor) -> Tensor:
    """Heads side by side, as the output projection takes them."""
    return z.transpose(1, 2).flatten(2)
