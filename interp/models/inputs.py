"""What a forward is given beside its ids: checked, since the libraries swallow what they ignore."""

import inspect
from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Bool, Int
from torch import Tensor, nn

from interp.heads import nearest_name

_INSTEAD = {
    "head_mask": "it does nothing in transformers 5; to remove a head, set its z to 0 in "
    "`Plain.hooked`",
    "output_attentions": "our attention hands no pattern to the model's output; read it at "
    "'pattern' in `Plain.hooked`",
}


def check_names(model: Any, inputs: Mapping[str, Any]) -> None:
    """Refuse a keyword argument that the model would ignore.

    Raises:
        ValueError: it says what to use instead, or the nearest name that the model does take.
    """
    taken = _parameters(model) | _parameters(model.base_model)
    for name in inputs:
        if name in _INSTEAD:
            raise ValueError(f"{name} cannot be passed: {_INSTEAD[name]}.")
        if name not in taken:
            nearest = nearest_name(name, taken)
            hint = f"did you mean {nearest!r}?" if nearest else f"it takes {', '.join(taken)}."
            raise ValueError(f"{type(model).__name__} takes no argument {name!r}; {hint}")


def real_tokens(
    model: Any,
    ids: Int[Tensor, "item pos"],
    attention_mask: Int[Tensor, "..."] | Bool[Tensor, "..."] | None,
    *,
    is_causal: bool,
) -> Bool[Tensor, "item pos"] | None:
    """Where the tokens are that are no padding; None when all are.

    An encoder's padding token stands in no text, so a mask that was left out is made from it. A
    decoder's may also end a text, so there a mask is needed.

    Raises:
        ValueError: the mask has another shape than the ids, or other values than 0 and 1; or the
            rows have unequal lengths where the rotary angles depend on the longest row.
    """
    if attention_mask is None:
        pad = getattr(model.config, "pad_token_id", None)
        if is_causal or pad is None:
            return None
        real = torch.ne(ids, pad)
    else:
        if attention_mask.shape != ids.shape:
            raise ValueError(
                f"attention_mask must have the shape of the ids, {tuple(ids.shape)}, got "
                f"{tuple(attention_mask.shape)}; give 1 for each token and 0 for each pad."
            )
        real = attention_mask.bool()
        if not torch.equal(real.to(attention_mask.dtype), attention_mask):
            raise ValueError("attention_mask must hold 1 for each token and 0 for each pad.")
    if bool(real.all()):
        return None
    limit = _length_of_fixed_angles(model.config)
    if limit is not None and ids.shape[1] > limit:
        raise ValueError(
            f"the rotary angles of this model depend on the longest row beyond {limit} tokens, so "
            "rows of other lengths would change with it; run rows of each length apart."
        )
    return real


def padded_inputs(model: Any, real: Bool[Tensor, "item pos"]) -> dict[str, Tensor]:
    """The mask, and positions that count real tokens only, if the model takes positions."""
    inputs: dict[str, Tensor] = {"attention_mask": real.long()}
    if "position_ids" in _parameters(model) | _parameters(model.base_model):
        positions = (real.cumsum(dim=1) - 1).clamp(min=0)
        inputs["position_ids"] = positions + _first_position(model)
    return inputs


def _parameters(module: nn.Module) -> set[str]:
    parameters = inspect.signature(module.forward).parameters.values()
    return {each.name for each in parameters if each.kind is not each.VAR_KEYWORD}


def _first_position(model: nn.Module) -> int:
    """The row of the position table that the first token takes: RoBERTa's stand after the pad's."""
    for name, part in model.named_modules():
        if name.endswith("position_embeddings") and isinstance(part, nn.Embedding):
            return 0 if part.padding_idx is None else part.padding_idx + 1
    return 0


def _length_of_fixed_angles(config: Any) -> int | None:
    """The length up to which rotary angles depend on nothing but a token's own position."""
    rope = getattr(config, "rope_parameters", None) or {}
    kind = rope.get("rope_type")
    if kind == "dynamic":
        return int(config.max_position_embeddings)
    if kind == "longrope":
        return int(rope["original_max_position_embeddings"])
    return None
