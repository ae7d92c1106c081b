"""Our attention under the signature by which transformers calls it.

transformers looks attention and mask functions up by name, and ours are registered there once.
Who answers a module's call is whoever owns the module: without an owner, a copy that others run.
"""

import weakref
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn
from transformers import AttentionInterface
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

NAME = "interp"


@runtime_checkable
class Owner(Protocol):
    """What runs a model with our attention inside."""

    def answer(
        self, module: nn.Module, query: Tensor, key: Tensor, value: Tensor, options: dict[str, Any]
    ) -> Tensor:
        """z of one module's attention, heads before positions."""


_OWNER_OF: "weakref.WeakKeyDictionary[nn.Module, weakref.ref[Owner]]" = weakref.WeakKeyDictionary()


def own(owner: Owner, model: nn.Module) -> None:
    """Let `owner` answer the attention of every module of a model."""
    for module in model.modules():
        _OWNER_OF[module] = weakref.ref(owner)


def owner_of(module: nn.Module) -> Owner | None:
    """Who answers a module's attention; None for the modules of a copy."""
    owner = _OWNER_OF.get(module)
    return None if owner is None else owner()


def _attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    softcap: float | None = None,
    s_aux: Tensor | None = None,
    position_bias: Tensor | None = None,
    **ignored: Any,
) -> tuple[Tensor, None]:
    """z, positions before heads. What is ignored here is caught when the model is loaded."""
    owner = owner_of(module)
    if owner is None:
        raise RuntimeError(
            f"nobody answers for {type(module).__name__}: its model was copied, or its `Plain` "
            'is gone; keep the `Plain`, or call set_attn_implementation("eager") on the copy.'
        )
    if attention_mask is not None and attention_mask.dtype != torch.bool:
        raise ValueError(
            f"{type(module).__name__} makes its own additive mask; "
            "expected the boolean mask that was registered for it."
        )
    options = {
        "scale": query.shape[-1] ** -0.5 if scaling is None else scaling,
        "mask": attention_mask,
        "softcap": softcap,
        "sinks": s_aux,
        "bias": position_bias,
    }
    z = owner.answer(module, query, key, value, options)
    return z.transpose(1, 2).contiguous(), None


def _boolean_mask(*args: Any, **kwargs: Any) -> Tensor | None:
    """transformers' own mask, True where a query may attend, and never left out when causal."""
    kwargs["allow_is_causal_skip"] = False
    mask: Tensor | None = sdpa_mask(*args, **kwargs)
    return mask


AttentionInterface.register(NAME, _attention)
AttentionMaskInterface.register(NAME, _boolean_mask)
