"""Rotary embedding turns pairs of dimensions, so that dot products depend on distance only."""

import math
import re

import numpy as np
import pytest
import torch

from interp.rotary import rotary, rotary_angles


def normal(*shape, seed=0, dtype=torch.float32):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def test_one_position_by_hand():
    """At position 1 with base 100, pair (0, 2) turns by 1 and pair (1, 3) by 1/10 radians."""
    x = torch.tensor([[[[1.0, 0.0, 0.0, 1.0]]]])
    cos, sin = rotary_angles(torch.tensor([[1]]), d_head=4, base=100.0)
    expected = [math.cos(1), -math.sin(0.1), math.sin(1), math.cos(0.1)]
    np.testing.assert_allclose(rotary(x, cos, sin)[0, 0, 0], expected, atol=1e-6)


def test_it_is_multiplication_by_a_complex_phase():
    x = normal(2, 3, 5, 8, dtype=torch.float64)
    positions = torch.tensor([[0, 1, 2, 3, 4], [7, 5, 3, 100, 0]])
    rates = 10000.0 ** (-np.arange(4) / 4)
    phases = np.exp(1j * positions.numpy()[:, None, :, None] * rates)
    turned = (x[..., :4].numpy() + 1j * x[..., 4:].numpy()) * phases
    cos, sin = rotary_angles(positions, d_head=8, base=10000.0)
    np.testing.assert_allclose(
        rotary(x, cos, sin),
        np.concatenate([turned.real, turned.imag], axis=-1),
        atol=1e-5,  # angles are float32
    )


def test_equals_llama_in_transformers_to_the_bit():
    # here, since importing transformers takes seconds
    from transformers.models.llama import modeling_llama

    config = modeling_llama.LlamaConfig(hidden_size=64, num_attention_heads=4)
    query, key = normal(2, 4, 9, 16), normal(2, 2, 9, 16, seed=1)
    positions = torch.arange(9).expand(2, 9) + 1000
    tables = modeling_llama.LlamaRotaryEmbedding(config)(query, positions)
    cos, sin = rotary_angles(positions, d_head=16, base=config.rope_parameters["rope_theta"])
    assert torch.equal(cos, tables[0])
    assert torch.equal(sin, tables[1])
    expected = modeling_llama.apply_rotary_pos_emb(query, key, *tables)
    assert torch.equal(rotary(query, cos, sin), expected[0])
    assert torch.equal(rotary(key, cos, sin), expected[1])


def test_dot_products_depend_on_distance_only():
    query, key = normal(1, 2, 6, 8), normal(1, 2, 6, 8, seed=1)

    def products(shift):
        cos, sin = rotary_angles(torch.arange(6)[None] + shift, d_head=8, base=10000.0)
        return rotary(query, cos, sin) @ rotary(key, cos, sin).mT

    torch.testing.assert_close(products(50), products(0), atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(products(0).diagonal(dim1=-2, dim2=-1), (query * key).sum(-1))
    assert not torch.allclose(products(0), query @ key.mT, atol=0.1)


def test_half_precision_stays_half_precision():
    cos, sin = rotary_angles(torch.arange(3)[None], d_head=4, base=10000.0)
    assert rotary(normal(1, 1, 3, 4, dtype=torch.bfloat16), cos, sin).dtype == torch.bfloat16


def test_an_odd_d_head_is_refused():
    sentence = (
        "d_head must be even, since dimensions turn in pairs, got 5; "
        "pass only the dimensions that are rotated."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        rotary_angles(torch.arange(3)[None], d_head=5, base=10000.0)
