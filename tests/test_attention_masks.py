"""What masks close stays closed, and a query without a key gives zeros."""

import re
from math import inf

import numpy as np
import pytest
import torch

from interp.attention import attention, causal_mask


def normal(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def pattern_and_z(*args, edit_scores=None, **kwargs):
    seen = {}

    def hook(name, tensor):
        if name == "scores" and edit_scores is not None:
            tensor = edit_scores(tensor)
        seen[name] = tensor
        return tensor

    attention(*args, **kwargs, hook=hook)
    return seen["pattern"], seen["z"]


def test_causal_mask_by_hand():
    assert causal_mask(2, 4).long().tolist() == [[[[1, 1, 1, 0], [1, 1, 1, 1]]]]


def test_sliding_window_by_hand():
    assert causal_mask(4, 4, window=2).long().tolist() == [
        [[[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]]]
    ]


@pytest.mark.parametrize("window", [5, 6, 100])
def test_a_window_over_everything_is_the_causal_mask(window):
    assert torch.equal(causal_mask(3, 5, window=window), causal_mask(3, 5))


def test_the_pattern_is_exactly_zero_outside_the_window():
    query, key, value = (normal(2, 3, 8, 4, seed=s) for s in range(3))
    pattern, _ = pattern_and_z(query, key, value, scale=0.5, mask=causal_mask(8, 8, window=3))
    distance = np.subtract.outer(np.arange(8), np.arange(8))
    inside = (distance >= 0) & (distance < 3)
    assert (pattern.numpy()[..., ~inside] == 0).all()
    assert (pattern.numpy()[..., inside] > 0).all()


def test_masks_that_cannot_be_are_refused():
    sentence = (
        "every query must have a key of its own, got 3 queries and 2 keys; "
        "pass all keys, those of earlier positions first."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        causal_mask(3, 2)
    sentence = (
        "window must be at least 1, the query's own position, got 0; "
        "leave it out for full causal attention."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        causal_mask(3, 3, window=0)


CLOSED = torch.tensor([False, True, False])[:, None]  # the second of three queries has no key


@pytest.mark.parametrize(
    ("mask", "edit_scores"),
    [
        pytest.param((~CLOSED).expand(1, 1, 3, 4), None, id="by the mask"),
        pytest.param(None, lambda scores: scores.masked_fill(CLOSED, -inf), id="by filling"),
        pytest.param(
            None,
            lambda scores: scores + torch.zeros(3, 1).masked_fill(CLOSED, -inf),
            id="by adding",
        ),
    ],
)
@pytest.mark.parametrize("sinks", [None, torch.tensor([0.3, -inf]).double()])
def test_a_query_without_a_key_gives_zeros_and_finite_gradients(mask, edit_scores, sinks):
    inputs = [normal(2, 2, 3, 5), normal(2, 2, 4, 5, seed=1), normal(2, 2, 4, 5, seed=2)]
    query, key, value = (tensor.requires_grad_() for tensor in inputs)
    arguments = {"scale": 0.5, "sinks": sinks}
    pattern, z = pattern_and_z(query, key, value, **arguments, mask=mask, edit_scores=edit_scores)
    assert (pattern[:, :, 1] == 0).all()
    assert (z[:, :, 1] == 0).all()

    (z * normal(2, 2, 3, 5, seed=3)).sum().backward()
    assert all(tensor.grad.isfinite().all() for tensor in (query, key, value))
    assert (query.grad[:, :, 1] == 0).all()
    assert (query.grad[:, :, 0] != 0).all()

    _, untouched_z = pattern_and_z(query, key, value, **arguments)
    assert torch.equal(z[:, :, [0, 2]], untouched_z[:, :, [0, 2]])


def test_a_nan_that_comes_in_is_not_hidden():
    query, key, value = (normal(1, 1, 3, 4, seed=s) for s in range(3))
    query[0, 0, 2, 0] = torch.nan
    z = attention(query, key, value, scale=0.5, mask=(~CLOSED).expand(1, 1, 3, 3))
    assert z.isnan().all(dim=-1).tolist() == [[[False, False, True]]]
    assert (z[:, :, 1] == 0).all()
