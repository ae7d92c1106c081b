"""Generation with a cache, where TransformerLens looks for the cache under a former name."""

from functools import partial
from typing import Any

from torch import Tensor
from transformer_lens.model_bridge.generalized_components import AttentionBridge


def pass_cache_on(bridge: Any) -> None:
    """Let attention find the cache of keys and values under transformers' present name for it.

    TransformerLens 4.3 asks for it under former names only. Generation with a cache would then
    attend to each new token alone, and say nothing.
    """
    for part in bridge.modules():
        if isinstance(part, AttentionBridge):
            part._update_kv_cache = partial(_update_cache, part._update_kv_cache)


def _update_cache(update: Any, key: Tensor, value: Tensor, **options: Any) -> Any:
    return update(key, value, **{"past_key_values": options.get("cache"), **options})
