"""Edits of one edge, against the pattern and the values taken apart by hand."""

import pytest
import torch

from interp import hooks
from interp.reference import attention as reference
from tests.tiny_bridges import exactly

EDGE = hooks.Edge(query=[4, -1], source=[1, 3])
QUERIES, SOURCES = (4, 5), (1, 3)
HEAD, KV_HEAD = 2, 1  # of llama; KV1 serves Q2–Q3


@pytest.fixture(params=["llama", "bert"])
def runs(request):
    return request.getfixturevalue(request.param)


def z_by_hand(cache, pattern):
    """Values averaged by a pattern, head by head."""
    value = cache["blocks.0.attn.hook_v"]
    group = pattern.shape[1] // value.shape[2]
    heads = [pattern[:, head] @ value[:, :, head // group] for head in range(pattern.shape[1])]
    return torch.stack(heads, dim=2)


def test_zeroed_the_rest_of_the_row_stays_as_it_was(runs):
    pattern = runs.intact["blocks.0.attn.hook_pattern"].clone()
    for query in QUERIES:
        for source in SOURCES:
            pattern[:, HEAD, query, source] = 0
    after = runs.cached(hooks.zero_edge((0, HEAD), EDGE))
    assert torch.allclose(after["blocks.0.attn.hook_z"], z_by_hand(runs.intact, pattern), atol=1e-6)


def test_closed_the_rest_of_the_row_renormalises(runs):
    """Case 32: two operations, two names, and they differ."""
    pattern = runs.intact["blocks.0.attn.hook_pattern"].clone()
    for query in QUERIES:
        for source in SOURCES:
            pattern[:, HEAD, query, source] = 0
        pattern[:, HEAD, query] /= pattern[:, HEAD, query].sum(-1, keepdim=True)
    after = runs.cached(hooks.close_edge((0, HEAD), EDGE))
    assert torch.allclose(after["blocks.0.attn.hook_z"], z_by_hand(runs.intact, pattern), atol=1e-6)
    zeroed, closed = (
        runs.edited(knock_out((0, HEAD), EDGE)) for knock_out in (hooks.zero_edge, hooks.close_edge)
    )
    assert (zeroed - closed).abs().max() > 1e-2


def test_closing_an_edge_equals_masking_it_in_numpy(bert):
    """Through the weights, in float64: the mask of one head without the edge."""
    attn = bert.bridge.blocks[0].attn
    weights = {name: getattr(attn, name).detach().numpy() for name in ("W_Q", "W_K", "W_V", "W_O")}
    biases = {name: getattr(attn, name).detach().numpy() for name in ("b_Q", "b_K", "b_V")}
    mask = torch.ones(4, 6, 6, dtype=torch.bool)
    for query in QUERIES:
        mask[HEAD, query, list(SOURCES)] = False
    after = bert.cached(hooks.close_edge((0, HEAD), EDGE))["blocks.0.attn.hook_z"]
    for prompt in range(2):
        residual = bert.intact["blocks.0.hook_in"][prompt].numpy()
        expected = reference(residual, **weights, **biases, scale=8**-0.5, mask=mask.numpy())
        z = torch.from_numpy(expected.z).transpose(0, 1).float()
        assert torch.allclose(after[prompt], z, atol=1e-5)


def test_resampled_the_edge_carries_what_it_carried_in_the_other_run(runs):
    """z at the query less A·v over the sources, plus A′·v′; one number at a time."""
    after = runs.cached(hooks.resample_edge((0, HEAD), EDGE, runs.donor))["blocks.0.attn.hook_z"]
    expected = runs.intact["blocks.0.attn.hook_z"].clone()
    for query in QUERIES:
        for source in SOURCES:
            for cache, sign in ((runs.intact, -1), (runs.donor, 1)):
                value = cache["blocks.0.attn.hook_v"]
                kv_head = HEAD * value.shape[2] // 4
                weight = cache["blocks.0.attn.hook_pattern"][:, HEAD, query, source]
                expected[:, query, HEAD] += sign * weight[:, None] * value[:, source, kv_head]
    assert torch.allclose(after, expected, atol=1e-6)


def test_every_edge_of_a_head_resampled_is_the_head_resampled(runs):
    everything = hooks.Edge(query=None, source=None)
    by_edges = runs.edited(hooks.resample_edge(["0.1", "1.2"], everything, runs.donor))
    by_heads = runs.edited(hooks.ablate(["0.1", "1.2"], hooks.Resample(runs.donor)))
    assert torch.allclose(by_edges, by_heads, atol=1e-5)


def test_edges_may_differ_between_prompts(llama):
    query, source = torch.zeros(2, 2, 6, dtype=torch.bool)
    query[0, 3] = query[1, 5] = source[0, 1] = source[1, 4] = True
    pairs = hooks.zero_edge("0.0", hooks.Edge(query, source))
    pattern = llama.cached(pairs)["blocks.0.attn.hook_pattern"]
    changed = pattern != llama.intact["blocks.0.attn.hook_pattern"]
    assert changed.nonzero().tolist() == [[0, 0, 3, 1], [1, 0, 5, 4]]


@pytest.mark.parametrize("knock_out", [hooks.zero_edge, hooks.close_edge])
def test_an_edge_that_the_mask_forbids_is_an_error(llama, knock_out):
    sentence = (
        "these heads put no weight on this edge, so there is nothing to knock out; choose sources "
        "that the query may attend to: not after it, and inside its window."
    )
    with pytest.raises(ValueError, match=exactly(sentence)):
        llama.edited(knock_out("0.1", hooks.Edge(query=[2], source=[4])))


def test_closing_every_key_of_a_query_is_an_error(llama):
    sentence = (
        "closing this edge leaves the queries at positions [0, 1] without any key; leave them a "
        "key, or use `zero_edge`."
    )
    with pytest.raises(ValueError, match=exactly(sentence)):
        llama.edited(hooks.close_edge("0.1", hooks.Edge(query=[0, 1, 2], source=[0, 1])))
