"""Attention equals what the libraries compute, and keeps the promises of its arguments.

Numbers by hand and the NumPy reference: test_reference. Masks and hooks: test_attention_*.
"""

import re
from math import inf

import numpy as np
import pytest
import scipy.special
import torch

from interp.attention import attention, causal_mask


def normal(*shape, seed=0, dtype=torch.float64):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def recorded(*args, **kwargs):
    """Every quantity that passes a hook, by name."""
    seen = {}

    def hook(name, tensor):
        seen[name] = tensor
        return tensor

    attention(*args, **kwargs, hook=hook)
    return seen


def test_equals_the_eager_formula_to_the_bit():
    query, key, value = (normal(2, 4, 7, 8, seed=s, dtype=torch.float32) for s in range(3))
    mask = causal_mask(7, 7)
    additive = torch.zeros(7, 7).masked_fill(~mask, torch.finfo(torch.float32).min)
    pattern = (query @ key.transpose(2, 3) * 8**-0.5 + additive).softmax(-1, dtype=torch.float32)
    seen = recorded(query, key, value, scale=8**-0.5, mask=mask)
    assert torch.equal(seen["pattern"], pattern)
    assert torch.equal(seen["z"], pattern @ value)


@pytest.mark.parametrize("n_kv_heads", [6, 3, 1])
@pytest.mark.parametrize("n_query", [5, 1])
def test_equals_torch_scaled_dot_product_attention(n_kv_heads, n_query):
    query = normal(2, 6, n_query, 4)
    key, value = normal(2, n_kv_heads, 5, 4, seed=1), normal(2, n_kv_heads, 5, 3, seed=2)
    mask = causal_mask(n_query, 5) & torch.tensor([True, False, True, True, True])
    expected = torch.nn.functional.scaled_dot_product_attention(
        query, key, value, attn_mask=mask, scale=0.3, enable_gqa=True
    )
    torch.testing.assert_close(attention(query, key, value, scale=0.3, mask=mask), expected)


def test_the_last_queries_alone_are_the_last_rows_of_all():
    query, key, value = (normal(2, 3, 6, 4, seed=s) for s in range(3))
    whole = attention(query, key, value, scale=0.5, mask=causal_mask(6, 6))
    last = attention(query[:, :, 4:], key, value, scale=0.5, mask=causal_mask(2, 6))
    torch.testing.assert_close(last, whole[:, :, 4:])


def test_a_kv_head_reaches_its_own_query_heads_only():
    query, key, value = normal(1, 4, 3, 2), normal(1, 2, 3, 2, seed=1), normal(1, 2, 3, 2, seed=2)
    intact = attention(query, key, value, scale=1.0)
    for changed in ("key", "value"):
        inputs = {"key": key.clone(), "value": value.clone()}
        inputs[changed][:, 0] = normal(1, 3, 2, seed=3)
        z = attention(query, **inputs, scale=1.0)
        is_equal = [torch.equal(z[:, head], intact[:, head]) for head in range(4)]
        assert is_equal == [False, False, True, True], changed


def test_query_heads_that_kv_heads_cannot_share_are_refused():
    sentence = (
        "the number of query heads must be a multiple of the number of kv heads, got 9 and 2; "
        "pass one key and value per group of query heads."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        attention(normal(1, 9, 2, 4), normal(1, 2, 2, 4), normal(1, 2, 2, 4), scale=1.0)


def test_soft_cap_acts_before_the_mask():
    """Capping a masked score would make it −c: a key that is still attended to."""
    query, key, value = (10 * normal(1, 2, 5, 4, seed=s) for s in range(3))
    seen = recorded(query, key, value, scale=1.0, softcap=2.0, mask=causal_mask(5, 5))
    past = np.tril(np.ones((5, 5), dtype=bool))
    products = np.einsum("bhqd,bhkd->bhqk", query, key)
    assert (seen["scores"].numpy()[..., ~past] == -inf).all()
    assert (seen["pattern"].numpy()[..., ~past] == 0).all()
    np.testing.assert_allclose(
        seen["scores"].numpy()[..., past], 2 * np.tanh(products / 2)[..., past], atol=1e-12
    )


def test_a_bias_that_falls_with_distance_is_in_the_scores():
    """ALiBi. Within a causal row only differences of bias count, so two spellings agree."""
    slopes = torch.tensor([0.5, 0.25], dtype=torch.float64)
    key_pos = torch.arange(5, dtype=torch.float64)
    by_distance = slopes[:, None, None] * (key_pos - key_pos[:, None])
    by_key = slopes[:, None, None] * key_pos
    query, key, value = torch.zeros(1, 2, 5, 4).double(), normal(1, 2, 5, 4), normal(1, 2, 5, 4)
    arguments = {"scale": 1.0, "mask": causal_mask(5, 5)}
    seen = recorded(query, key, value, bias=by_distance[None], **arguments)
    expected = scipy.special.softmax(-0.5 * np.arange(4, -1, -1))
    np.testing.assert_allclose(seen["pattern"][0, 0, 4], expected, atol=1e-12)
    torch.testing.assert_close(
        seen["pattern"], recorded(query, key, value, bias=by_key[None], **arguments)["pattern"]
    )


def test_a_sink_is_one_more_key_whose_value_is_zero():
    query, key, value = (normal(2, 3, 4, 5, seed=s) for s in range(3))
    sinks = normal(3, seed=3)
    seen = recorded(query, key, value, scale=0.4, sinks=sinks, mask=causal_mask(4, 4))
    assert (seen["pattern"].sum(dim=-1) < 1).all()

    products = 0.4 * np.einsum("bhqd,bhkd->bhqk", query, key)
    products = np.where(np.tril(np.ones((4, 4))), products, -inf)
    sink_scores = np.broadcast_to(sinks.numpy()[:, None, None], (2, 3, 4, 1))
    with_sink = scipy.special.softmax(np.concatenate([products, sink_scores], -1), axis=-1)
    with_zero = np.concatenate([value, np.zeros((2, 3, 1, 5))], axis=2)
    np.testing.assert_allclose(seen["z"], with_sink @ with_zero, atol=1e-12)
    np.testing.assert_allclose(seen["pattern"], with_sink[..., :-1], atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_takes_its_softmax_in_float32(dtype):
    query, key, value = (normal(1, 2, 6, 8, seed=s, dtype=dtype) for s in range(3))
    sinks = normal(2, dtype=torch.float32)  # finer than the scores, and not to be rounded
    seen = recorded(query, key, value, scale=0.5, sinks=sinks)
    assert {tensor.dtype for tensor in seen.values()} == {dtype}
    sink_scores = np.broadcast_to(sinks.double().numpy()[:, None, None], (1, 2, 6, 1))
    with_sink = np.concatenate([seen["scores"].double().numpy(), sink_scores], axis=-1)
    exact = torch.from_numpy(scipy.special.softmax(with_sink, axis=-1)[..., :-1])
    # correctly rounded, but for a last place that float32 cannot settle
    assert (seen["pattern"] == exact.to(dtype)).double().mean() > 0.99


def test_gradients_are_those_of_finite_differences():
    inputs = [normal(1, 2, 3, 2), normal(1, 1, 3, 2, seed=1), normal(1, 1, 3, 2, seed=2)]
    extras = [normal(1, 2, 3, 3, seed=3), normal(2, seed=4)]
    mask = causal_mask(3, 3)
    mask[..., 0, 0] = False  # the first query has no key

    def computed(query, key, value, bias, sinks):
        return attention(
            query, key, value, scale=0.7, softcap=3.0, mask=mask, bias=bias, sinks=sinks
        )

    def without_sinks(query, key, value, bias):
        return attention(query, key, value, scale=0.7, mask=mask, bias=bias)

    variables = [tensor.requires_grad_() for tensor in inputs + extras]
    assert torch.autograd.gradcheck(computed, variables)
    assert torch.autograd.gradcheck(without_sinks, variables[:4])


def test_inputs_are_left_as_they_were():
    inputs = [normal(1, 4, 3, 2), normal(1, 2, 3, 2, seed=1), normal(1, 2, 3, 2, seed=2)]
    arguments = {"bias": normal(1, 4, 3, 3), "sinks": normal(4), "mask": causal_mask(3, 3).clone()}
    tensors = [*inputs, *arguments.values()]
    before = [tensor.clone() for tensor in tensors]
    attention(*inputs, scale=0.5, softcap=2.0, **arguments)
    assert all(torch.equal(now, then) for now, then in zip(tensors, before, strict=True))
