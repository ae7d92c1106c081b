"""Encoders that TransformerLens cannot load have bridges with its names."""

import copy

import pytest
import torch

from interp.models import load
from interp.models.bridge import boot
from tests.tiny_bridges import logits, prompts, tiny_model

POINTS = ("q", "k", "v", "z", "attn_scores", "pattern")


@pytest.mark.parametrize("family", ["distilbert", "headless bert"])
def test_the_outputs_are_the_models_own_to_the_last_bit(tokenizer, family):
    """Case 41."""
    model = tiny_model(family)
    bridge = boot(copy.deepcopy(model), tokenizer, name="tiny")
    assert torch.equal(bridge(prompts()), logits(model, prompts()))


@pytest.mark.parametrize("family", ["distilbert", "headless bert"])
def test_every_head_has_its_hook_points_and_they_fit_together(tokenizer, family):
    bridge = boot(tiny_model(family), tokenizer, name="tiny")
    _, cache = bridge.run_with_cache(prompts())
    for layer in range(2):
        q, k, v, z, scores, pattern = (cache[f"blocks.{layer}.attn.hook_{name}"] for name in POINTS)
        by_hand = torch.einsum("bqhd,bkhd->bhqk", q, k) / 8**0.5
        assert torch.allclose(scores, by_hand, atol=1e-5)
        assert torch.allclose(pattern, by_hand.softmax(-1), atol=1e-5)
        assert torch.allclose(z, torch.einsum("bhqk,bkhd->bqhd", pattern, v), atol=1e-5)


def test_minilm_has_a_bridge_whose_output_is_that_of_the_plain_model():
    model = load("minilm-l6")
    ids = torch.tensor([[101, 1996, 3899, 2743, 102], [101, 2016, 2743, 2185, 102]])
    expected = model.plain(ids).last_hidden_state
    assert (model.bridge(ids) - expected).abs().max() <= 1e-5

    def without_head_3(pattern, hook):
        edited = pattern.clone()
        edited[:, 3] = 0
        return edited

    edited = model.bridge.run_with_hooks(
        ids, fwd_hooks=[("blocks.4.attn.hook_pattern", without_head_3)]
    )
    changed = copy.deepcopy(tiny_free(model))
    changed.encoder.layer[4].attention.output.dense.weight[:, 3 * 32 : 4 * 32] = 0
    assert (edited - logits(changed, ids)).abs().max() <= 1e-5
    assert (edited - expected).abs().max() > 1e-2


def tiny_free(model):
    """The model's modules with transformers' own attention."""
    free = copy.deepcopy(model.plain.module)
    free.set_attn_implementation("eager")
    return free
