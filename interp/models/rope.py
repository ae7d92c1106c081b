"""Dynamic rotary angles without a memory of longer texts."""

from typing import Any

from torch import nn


def forget_longer_texts(model: nn.Module) -> None:
    """Let the angles of a dynamic rotary embedding depend on the text at hand alone.

    transformers keeps the angles of the longest text so far for all shorter ones above the
    original length, so that an output would depend on what was run before.
    """
    for module in model.modules():
        if getattr(module, "rope_type", None) == "dynamic":
            module.register_forward_pre_hook(_forget)


def _forget(rotary: Any, args: tuple[Any, ...]) -> None:
    rotary.max_seq_len_cached = rotary.original_max_seq_len
    rotary.inv_freq = rotary.original_inv_freq
