"""TransformerLens's bridge: its hook points and its API, for people."""

from typing import Any

from interp.models.adapters import ADAPTERS, boot_with_adapter
from interp.models.seam import sew


def boot(module: Any, tokenizer: Any, *, name: str) -> Any:
    """A `TransformerBridge` in eval mode around a loaded model, which is changed in place.

    Every edit at a head's scores, pattern, z, query, key or value acts, or is refused.

    Raises:
        ValueError: neither TransformerLens nor we have an adapter for this family.
    """
    from transformer_lens.model_bridge import TransformerBridge

    module.set_attn_implementation("eager")
    architecture = type(module).__name__
    if architecture in ADAPTERS:
        bridge = boot_with_adapter(module, tokenizer, name=name)
    else:
        module.config.architectures = [architecture]
        bridge = TransformerBridge.boot_transformers(name, hf_model=module, tokenizer=tokenizer)
    bridge.eval()
    sew(bridge)
    return bridge
