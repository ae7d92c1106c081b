"""A layer of attention is H heads that read apart and add up."""

from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from interp import reference
from interp.multihead import MultiHeadAttention


def normal(*shape, seed=0, dtype=torch.float64):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def layer(*, seed=0, **sizes):
    """A float64 layer whose weights and biases are all random."""
    sizes = {"d_model": 12, "d_head": 3, "n_heads": 4, "is_causal": True} | sizes
    built = MultiHeadAttention(**sizes).double()
    for index, parameter in enumerate(built.parameters()):
        parameter.data = normal(*parameter.shape, seed=100 * seed + index)
    return built.requires_grad_(False)


def test_two_positions_by_hand():
    """Scores [[log 3, 0], [0, log 4]]; each value an axis of its own, 8 and 20 long."""
    built = MultiHeadAttention(d_model=2, d_head=2, n_heads=1, is_causal=False).requires_grad_(
        False
    )
    built.W_Q[0] = torch.eye(2) * 2**0.5
    built.W_K[0] = torch.tensor([3.0, 4.0]).log().diag()
    built.W_V[0] = torch.tensor([8.0, 20.0]).diag()
    built.W_O[0] = torch.eye(2)
    bidirectional = built(torch.eye(2)[None])
    np.testing.assert_allclose(bidirectional[0], [[6.0, 5.0], [1.6, 16.0]], rtol=1e-5)
    built.is_causal = True
    np.testing.assert_allclose(built(torch.eye(2)[None])[0], [[8.0, 0.0], [1.6, 16.0]], rtol=1e-5)


@settings(max_examples=25, deadline=None)
@given(
    n_kv_heads=st.integers(1, 3),
    n_group=st.integers(1, 3),
    n_pos=st.integers(1, 5),
    d_head=st.integers(1, 4),
    is_causal=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_equals_the_reference(n_kv_heads, n_group, n_pos, d_head, is_causal, seed):
    built = layer(
        d_model=5,
        d_head=d_head,
        n_heads=n_kv_heads * n_group,
        n_kv_heads=n_kv_heads,
        is_causal=is_causal,
        seed=seed,
    )
    residual = normal(2, n_pos, 5, seed=seed)
    weights = {name: parameter.numpy() for name, parameter in built.named_parameters()}
    past = np.tril(np.ones((n_pos, n_pos), dtype=bool))
    for x, out in zip(residual.numpy(), built(residual), strict=True):
        expected = reference.attention(
            x, **weights, scale=d_head**-0.5, mask=past if is_causal else None
        )
        np.testing.assert_allclose(out, expected.out, atol=1e-10)


@pytest.mark.parametrize("is_causal", [True, False])
def test_equals_torch_multihead_attention(is_causal):
    theirs = torch.nn.MultiheadAttention(12, 4, batch_first=True, dtype=torch.float64)
    torch.nn.init.normal_(theirs.in_proj_bias)
    torch.nn.init.normal_(theirs.out_proj.bias)
    theirs.requires_grad_(False)
    ours = layer(is_causal=is_causal)
    # theirs stacks q, k, v and heads as rows of one matrix, output features first
    for name, weight, bias in zip(
        "QKV", theirs.in_proj_weight.chunk(3), theirs.in_proj_bias.chunk(3), strict=True
    ):
        getattr(ours, f"W_{name}").copy_(weight.reshape(4, 3, 12).mT)
        getattr(ours, f"b_{name}").copy_(bias.reshape(4, 3))
    ours.W_O.copy_(theirs.out_proj.weight.mT.reshape(4, 3, 12))
    ours.b_O.copy_(theirs.out_proj.bias)

    x = normal(2, 6, 12)
    future = torch.ones(6, 6, dtype=torch.bool).triu(1)
    expected, _ = theirs(x, x, x, attn_mask=future if is_causal else None, need_weights=False)
    torch.testing.assert_close(ours(x), expected)


def test_the_output_is_the_bias_and_what_each_head_writes_alone():
    built, x = layer(), normal(2, 5, 12)

    def keep(head, name, tensor):
        is_kept = torch.arange(4)[:, None, None] == head
        return torch.where(is_kept, tensor, 0.0) if name == "z" else tensor

    alone = [built(x, hook=partial(keep, head)) - built.b_O for head in range(4)]
    torch.testing.assert_close(built(x), sum(alone) + built.b_O)


def test_a_head_without_z_is_a_head_without_w_o():
    built, x = layer(), normal(2, 5, 12)
    intact = built(x)
    is_ablated = torch.tensor([False, False, True, False])[:, None, None]
    ablated = built(x, hook=lambda name, t: t.masked_fill(is_ablated, 0.0) if name == "z" else t)
    assert torch.equal(built(x), intact)  # nothing is left behind
    built.W_O[2] = 0.0
    assert torch.equal(ablated, built(x))
    assert not torch.allclose(ablated, intact)


def test_a_causal_layer_does_not_see_the_future():
    x = normal(1, 5, 12)
    changed = x.clone()
    changed[:, 3] += 1.0
    for is_causal in (True, False):
        built = layer(is_causal=is_causal)
        moved = (built(x) != built(changed)).any(dim=-1)[0].tolist()
        assert moved == [not is_causal] * 3 + [True] * 2


def test_a_bidirectional_layer_does_not_know_the_order():
    built, x = layer(is_causal=False), normal(1, 5, 12)
    order = torch.tensor([3, 0, 4, 1, 2])
    torch.testing.assert_close(built(x[:, order]), built(x)[:, order])


def test_a_new_layer_keeps_unit_variance():
    torch.manual_seed(0)
    built = MultiHeadAttention(d_model=256, d_head=64, n_heads=4, n_kv_heads=2, is_causal=True)
    variances = {}

    def hook(name, tensor):
        variances[name] = tensor.var().item()
        return tensor

    with torch.no_grad():
        built(normal(4, 64, 256, dtype=torch.float32), hook=hook)
    for name in ("query", "key", "value"):
        assert variances[name] == pytest.approx(1.0, rel=0.1), name
    assert all((getattr(built, bias) == 0).all() for bias in ("b_Q", "b_K", "b_V", "b_O"))


def test_every_parameter_learns():
    built = layer(n_kv_heads=2).requires_grad_(True)
    built(normal(2, 5, 12)).square().sum().backward()
    gradients = {name: p.grad.abs().max().item() for name, p in built.named_parameters()}
    # a constant added to every score of a row changes no softmax, so b_K cannot matter
    assert gradients.pop("b_K") == pytest.approx(0.0, abs=1e-9)
    assert min(gradients.values()) > 1e-3
