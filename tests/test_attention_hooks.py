"""An edit at each of the six points acts as the mathematics says."""

import re
from math import inf, log

import numpy as np
import pytest
import scipy.special
import torch

from interp.attention import attention, causal_mask, untouched

POINTS = ("query", "key", "value", "scores", "pattern", "z")
N_BATCH, N_HEADS, N_KV_HEADS, N_POS, D_HEAD, SCALE = 2, 4, 2, 5, 3, 0.6
PAST = np.tril(np.ones((N_POS, N_POS), dtype=bool))


def normal(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


QUERY = normal(N_BATCH, N_HEADS, N_POS, D_HEAD)
KEY, VALUE = (normal(N_BATCH, N_KV_HEADS, N_POS, D_HEAD, seed=s) for s in (1, 2))


def computed(hook):
    return attention(QUERY, KEY, VALUE, scale=SCALE, mask=causal_mask(N_POS, N_POS), hook=hook)


def at(point, edit):
    return lambda name, tensor: edit(tensor) if name == point else tensor


def by_numpy(point, edit):
    """z from the formula, one quantity edited on the way."""

    def passed(name, array):
        return edit(torch.from_numpy(array)).numpy() if name == point else array

    query, key, value = (
        passed(name, tensor.numpy())
        for name, tensor in zip(POINTS, (QUERY, KEY, VALUE), strict=False)
    )
    group = N_HEADS // N_KV_HEADS
    key, value = np.repeat(key, group, axis=1), np.repeat(value, group, axis=1)
    products = SCALE * np.einsum("bhqd,bhkd->bhqk", query, key)
    scores = passed("scores", np.where(PAST, products, -inf))
    pattern = passed("pattern", scipy.special.softmax(scores, axis=-1))
    return passed("z", np.einsum("bhqk,bhkd->bhqd", pattern, value))


def test_each_point_is_passed_once_in_order_with_its_own_shape():
    seen = []

    def hook(name, tensor):
        seen.append((name, tuple(tensor.shape)))
        return tensor

    computed(hook)
    assert seen == [
        ("query", (N_BATCH, N_HEADS, N_POS, D_HEAD)),
        ("key", (N_BATCH, N_KV_HEADS, N_POS, D_HEAD)),
        ("value", (N_BATCH, N_KV_HEADS, N_POS, D_HEAD)),
        ("scores", (N_BATCH, N_HEADS, N_POS, N_POS)),
        ("pattern", (N_BATCH, N_HEADS, N_POS, N_POS)),
        ("z", (N_BATCH, N_HEADS, N_POS, D_HEAD)),
    ]


@pytest.mark.parametrize("point", POINTS)
def test_an_edit_acts_on_everything_after_it(point):
    def edit(tensor):
        factor = 1 + normal(*tensor.shape, seed=9).abs()  # positive: a closed key stays closed
        return tensor * factor

    expected = by_numpy(point, edit)
    np.testing.assert_allclose(computed(at(point, edit)), expected, atol=1e-12)
    assert not np.allclose(expected, computed(untouched))


def test_a_score_edit_can_open_a_masked_key():
    z = computed(at("scores", torch.zeros_like))
    everywhere = np.repeat(VALUE.numpy().mean(axis=2, keepdims=True), 2, axis=1)
    np.testing.assert_allclose(z, np.broadcast_to(everywhere, z.shape), atol=1e-12)


def test_a_hook_that_changes_nothing_changes_no_bit():
    plain = attention(QUERY, KEY, VALUE, scale=SCALE, mask=causal_mask(N_POS, N_POS))
    for hook in (untouched, lambda _name, tensor: tensor.clone()):
        assert torch.equal(computed(hook), plain)


def test_a_pattern_of_zeros_is_a_z_of_zeros():
    without_pattern = computed(at("pattern", torch.zeros_like))
    assert torch.equal(without_pattern, computed(at("z", torch.zeros_like)))
    assert (without_pattern == 0).all()


def test_zeroing_an_entry_is_not_closing_its_key():
    """Zeroed, the weight of .75 is lost; closed, it goes to the other key."""
    query = torch.tensor([[[[1.0]]]])
    key, value = torch.tensor([[[[log(3)], [0.0]]]]), torch.tensor([[[[8.0], [20.0]]]])
    first_key = torch.tensor([True, False])

    def gathered(point, put_in):
        hook = at(point, lambda tensor: tensor.masked_fill(first_key, put_in))
        return attention(query, key, value, scale=1.0, hook=hook).item()

    assert attention(query, key, value, scale=1.0).item() == pytest.approx(3 / 4 * 8 + 1 / 4 * 20)
    assert gathered("pattern", 0.0) == pytest.approx(1 / 4 * 20)
    assert gathered("scores", -inf) == pytest.approx(20)


def test_closing_a_key_is_attention_over_the_others():
    closed = 2
    z = computed(at("scores", lambda s: s.index_fill(-1, torch.tensor([closed]), -inf)))
    others = [key for key in range(N_POS) if key != closed]
    expected = torch.nn.functional.scaled_dot_product_attention(
        QUERY,
        KEY[:, :, others],
        VALUE[:, :, others],
        attn_mask=torch.from_numpy(PAST[:, others]),
        scale=SCALE,
        enable_gqa=True,
    )
    torch.testing.assert_close(z, expected)


@pytest.mark.parametrize(
    ("point", "edit", "came"),
    [
        ("query", lambda t: t[:1], "shape (1, 4, 5, 3) and dtype torch.float64"),
        ("key", lambda t: t.repeat_interleave(2, 1), "shape (2, 4, 5, 3) and dtype torch.float64"),
        ("value", lambda t: t.float(), "shape (2, 2, 5, 3) and dtype torch.float32"),
        ("scores", lambda t: t.mean(), "shape () and dtype torch.float64"),
        ("pattern", lambda t: t[:, :1], "shape (2, 1, 5, 5) and dtype torch.float64"),
        ("z", lambda t: t.mean(0, keepdim=True), "shape (1, 4, 5, 3) and dtype torch.float64"),
    ],
)
def test_what_would_broadcast_or_convert_is_refused(point, edit, came):
    expected_shape = {
        "query": "(2, 4, 5, 3)",
        "key": "(2, 2, 5, 3)",
        "value": "(2, 2, 5, 3)",
        "scores": "(2, 4, 5, 5)",
        "pattern": "(2, 4, 5, 5)",
        "z": "(2, 4, 5, 3)",
    }[point]
    sentence = (
        f"the hook at '{point}' must return a tensor of shape {expected_shape} and dtype "
        f"torch.float64, got {came}; return the tensor it was given to change nothing."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        computed(at(point, edit))


def test_a_hook_that_returns_nothing_is_refused():
    sentence = (
        "the hook at 'query' must return a tensor of shape (2, 4, 5, 3) and dtype "
        "torch.float64, got NoneType; return the tensor it was given to change nothing."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        computed(lambda name, tensor: None)
