"""How transformers asks for attention: by a registered name, with arguments in its own words."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

Answer = Callable[[nn.Module, Tensor, Tensor, Tensor, dict[str, Any]], Tensor]
"""`answer(module, query, key, value, options) -> z`; options are those of `interp.attention`."""


def register(name: str, answer: Answer) -> None:
    """Let every model whose attention implementation is `name` ask `answer` for z.

    Queries, keys and values come post-rotary with heads before positions, and z goes back so.
    """

    def attend(
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
        if dropout:
            raise ValueError(
                f"{type(module).__name__} asks for attention dropout {dropout}, which is not "
                "applied here; put the model in eval mode."
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
        z = answer(module, query, key, value, options)
        return z.transpose(1, 2).contiguous(), None

    AttentionInterface.register(name, attend)
    AttentionMaskInterface.register(name, _boolean_mask)


def _boolean_mask(*args: Any, **kwargs: Any) -> Tensor | None:
    """transformers' own mask, True where a query may attend, and never left out when causal."""
    kwargs["allow_is_causal_skip"] = False
    mask: Tensor | None = sdpa_mask(*args, **kwargs)
    return mask
