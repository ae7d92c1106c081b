"""TransformerLens's bridge: its hook points and its API, for people."""

from typing import Any

import torch
from torch import Tensor
from transformer_lens.model_bridge import TransformerBridge

from interp.models.adapters import ADAPTERS, boot_with_adapter
from interp.models.kv_cache import pass_cache_on
from interp.models.seam import sew
from interp.models.strict import StrictBridge
from interp.probes import same_output_probe


def boot(module: Any, tokenizer: Any, *, name: str) -> StrictBridge:
    """A bridge in eval mode around a loaded model, which is changed in place.

    It is TransformerLens's `TransformerBridge`. Every edit of a head's scores, pattern, z, query,
    key or value acts or is refused, and so is everything else that would pass in silence.

    Raises:
        ValueError: there is no adapter for this family, or the bridge computes other logits than
            the model itself.
    """
    module.eval()
    ids = torch.arange(4, device=module.device)[None]
    options = {"decoder_input_ids": ids} if module.config.is_encoder_decoder else {}
    with torch.no_grad():
        expected = logits_of(module(input_ids=ids, **options))
    module.set_attn_implementation("eager")
    bridge: StrictBridge = _booted(module, tokenizer, name)
    # TransformerLens boots only its own class; ours has the same attributes.
    bridge.__class__ = StrictBridge
    bridge.eval()
    sew(bridge)
    pass_cache_on(bridge)
    try:
        same_output_probe(lambda ids: expected, lambda ids: bridge(ids, **options), ids)
    except ValueError as error:
        raise ValueError(
            f"TransformerLens computes {type(module).__name__} otherwise than transformers does, "
            f"so there is no bridge for it: {error}"
        ) from error
    return bridge


def logits_of(output: Any) -> Tensor:
    """A model's logits; the final hidden states of one without a head."""
    logits: Tensor = output.logits if hasattr(output, "logits") else output.last_hidden_state
    return logits


def _booted(module: Any, tokenizer: Any, name: str) -> Any:
    architecture = type(module).__name__
    if architecture in ADAPTERS:
        return boot_with_adapter(module, tokenizer, name=name)
    if module.get_output_embeddings() is None:
        raise ValueError(
            f"there is no bridge for {architecture}, a model without a language-model head; use "
            "`model.plain`, which runs the same attention and hooks."
        )
    module.config.architectures = [architecture]
    # Left to itself it takes the GPU of the machine for the model's device, wherever the model is.
    return TransformerBridge.boot_transformers(
        name, hf_model=module, tokenizer=tokenizer, device=str(module.device)
    )
