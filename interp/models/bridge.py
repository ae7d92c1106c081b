"""TransformerLens's bridge: its hook points and its API, for people."""

from typing import Any


def boot(module: Any, tokenizer: Any, *, name: str) -> Any:
    """A `TransformerBridge` around a loaded model, which is changed in place.

    Raises:
        ValueError: TransformerLens has no adapter for this family.
    """
    from transformer_lens.model_bridge import TransformerBridge

    if module.get_output_embeddings() is None:
        raise ValueError(
            f"TransformerLens has no adapter for {type(module).__name__}, a model without a "
            "language-model head; use `model.plain`, which runs the same attention and hooks."
        )
    module.set_attn_implementation("eager")
    bridge = TransformerBridge.boot_transformers(name, hf_model=module, tokenizer=tokenizer)
    bridge.eval()
    return bridge
