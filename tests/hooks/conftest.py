"""A grouped decoder, an encoder, and a model without norms and MLPs, with two runs of each."""

from dataclasses import dataclass
from typing import Any

import pytest
import torch
from transformer_lens.config import TransformerBridgeConfig
from transformer_lens.model_bridge import TransformerBridge

from interp.models.bridge import boot
from tests.tiny_bridges import prompts, tiny_model


@dataclass
class Runs:
    """A bridge, the intact run of `ids` and the run of `other` prompts, everything cached."""

    bridge: Any
    ids: torch.Tensor
    other: torch.Tensor

    def __post_init__(self):
        self.logits, self.intact = self.bridge.run_with_cache(self.ids)
        self.donor_logits, self.donor = self.bridge.run_with_cache(self.other)

    def edited(self, pairs):
        return self.bridge.run_with_hooks(self.ids, fwd_hooks=pairs)

    def cached(self, pairs):
        with self.bridge.hooks(fwd_hooks=pairs):
            return self.bridge.run_with_cache(self.ids)[1]


@pytest.fixture(scope="session")
def llama(tokenizer):
    """Two layers, four heads, two key/value heads."""
    bridge = boot(tiny_model("llama"), tokenizer, name="tiny")
    return Runs(bridge, prompts(), prompts(seed=1))


@pytest.fixture(scope="session")
def bert(tokenizer):
    bridge = boot(tiny_model("bert"), tokenizer, name="tiny")
    return Runs(bridge, prompts(), prompts(seed=1))


@pytest.fixture(scope="session")
def attention_only():
    """Three layers of two heads and nothing else: the residual stream is a sum."""
    config = TransformerBridgeConfig(
        d_model=16,
        d_head=8,
        n_heads=2,
        n_layers=3,
        n_ctx=16,
        d_vocab=60,
        attn_only=True,
        normalization_type=None,
        initializer_range=0.4,
        seed=0,
    )
    bridge = TransformerBridge.boot_native(config)
    bridge.eval().requires_grad_(False)
    return Runs(bridge, prompts(), prompts(seed=1))
