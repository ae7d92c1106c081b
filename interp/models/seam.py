"""Our attention inside a bridge, in the places where TransformerLens throws edits away.

On some families TransformerLens lets the model's own module compute attention, and shows its
scores and pattern only afterwards. There our attention runs instead and fires the bridge's own
hook points on the way, so that what a hook returns is what the computation goes on with.
"""

import weakref
from types import MethodType
from typing import Any

import torch
from torch import Tensor, nn
from transformer_lens.model_bridge.generalized_components import AttentionBridge

import interp.attention as written_out
from interp.models.registry import register

_NAME = "interp-bridge"
_POINTS = {"scores": "hook_attn_scores", "pattern": "hook_pattern"}

_COMPONENT_OF: "weakref.WeakKeyDictionary[nn.Module, weakref.ref[Any]]" = (
    weakref.WeakKeyDictionary()
)


def sew(bridge: Any) -> None:
    """Let our attention run wherever `bridge` would leave it to the model's own module.

    Edits of a point that even so cannot act are refused with an error (see `refuse_lost_edits`).
    """
    delegating = [part for part in bridge.modules() if _delegates(part)]
    for component in delegating:
        for module in component.original_component.modules():
            _COMPONENT_OF[module] = weakref.ref(component)
            if type(module).__name__ == "GPTNeoSelfAttention":  # asks no registry
                module._attn = MethodType(_gpt_neo_attention, module)
    model = bridge.original_model
    # Asked first, because transformers only logs it when a family has no registry.
    if delegating and model._can_set_attn_implementation():
        model.set_attn_implementation(_NAME)
    refuse_lost_edits(bridge)


def refuse_lost_edits(bridge: Any) -> None:
    """Turn every edit that TransformerLens would discard into an error.

    It shows some values to hooks only after the model has used them. Reading them there is fine.
    A hook that returns something else, or that changes the tensor in place, raises a ValueError.
    """
    for part in bridge.modules():
        if isinstance(part, AttentionBridge):
            part._fire_post_hoc_hook = _show_only


def _delegates(part: nn.Module) -> bool:
    """Whether a component leaves the whole of attention to the model's module."""
    return (
        isinstance(part, AttentionBridge)
        and type(part).forward is AttentionBridge.forward
        and not hasattr(part.original_component, "accepts_pattern_fn")
    )


def _answer(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, options: dict[str, Any]
) -> Tensor:
    if module not in _COMPONENT_OF:
        raise ValueError("this bridge is a copy of another; boot a copy of the model instead.")
    component = _COMPONENT_OF[module]()

    def fire(name: str, tensor: Tensor) -> Tensor:
        if name not in _POINTS:
            return tensor
        fired: Tensor = getattr(component, _POINTS[name])(tensor)
        return fired

    return written_out.attention(query, key, value, hook=fire, **options)


def _gpt_neo_attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None = None,
) -> tuple[Tensor, None]:
    """GPT-Neo's unscaled attention, causal or local, for its own `_attn`."""
    n_query, n_key = query.shape[-2], key.shape[-2]
    mask = module.bias[:, :, n_key - n_query : n_key, :n_key]
    if attention_mask is not None:
        mask = mask & (attention_mask == 0)
    return _answer(module, query, key, value, {"scale": 1.0, "mask": mask}), None


def _show_only(hook_point: Any, tensor: Tensor, name: str) -> Tensor:
    """Fire a hook on a value that has been used already, and refuse any edit of it."""
    before = tensor.clone()
    shown = hook_point(tensor)
    for after in (tensor, shown):
        if not _is_same(after, before):
            raise ValueError(
                f"an edit of {hook_point.name or name} cannot act on this model, which has used "
                "the value before the hook sees it; edit hook_pattern, hook_z, hook_q, hook_k or "
                "hook_v of the same attention instead."
            )
    return tensor


def _is_same(after: Any, before: Tensor) -> bool:
    """Whether a hook left a value as it was; −inf and NaN are values like others."""
    return (
        isinstance(after, Tensor)
        and after.shape == before.shape
        and torch.allclose(after, before, rtol=0, atol=0, equal_nan=True)
    )


register(_NAME, _answer)
