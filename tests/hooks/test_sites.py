"""Ablating and patching heads, against weights edited by hand and arithmetic by hand."""

import copy
from functools import partial

import pytest
import torch

from interp import hooks
from interp.heads import Head, KVHead, kv_head_of
from interp.hooks.selection import head_mask
from interp.models.bridge import boot
from tests.tiny_bridges import exactly, logits, prompts, tiny_model, without_head


def close(one, other, tolerance=1e-5):
    return (one - other).abs().max() <= tolerance * other.abs().max()


@pytest.mark.parametrize("family", ["llama", "bert", "opt", "gpt2", "gemma2"])
def test_zero_ablation_is_zeroing_the_heads_columns_of_the_projection(tokenizer, family):
    """Case 26."""
    model = tiny_model(family)
    bridge = boot(copy.deepcopy(model), tokenizer, name="tiny")
    edited = bridge.run_with_hooks(prompts(), fwd_hooks=hooks.ablate("0.1", hooks.Zero()))
    expected = logits(without_head(model, family, 1), prompts())
    assert close(edited, expected)
    assert not close(edited, logits(model, prompts()), tolerance=1e-2)


@pytest.mark.parametrize("runs", ["llama", "bert"])
@pytest.mark.parametrize("baseline", ["zero", "mean", "resample"])
def test_what_the_projection_gets_is_the_baseline_there_and_intact_elsewhere(
    runs, baseline, request
):
    runs = request.getfixturevalue(runs)
    counted = torch.ones(2, 6, dtype=torch.bool)
    counted[:, 0] = counted[1, 5] = False
    z = runs.donor["blocks.0.attn.hook_z"]
    value, expected = {
        "zero": (hooks.Zero(), torch.zeros_like(z)),
        "mean": (
            hooks.Mean(runs.donor, counted),
            ((z[0, 1:].sum(0) + z[1, 1:5].sum(0)) / 9).expand_as(z),
        ),
        "resample": (hooks.Resample(runs.donor), z),
    }[baseline]
    after = runs.cached(hooks.ablate(["0.1", (0, 3)], value, positions=[2, -1]))
    after, before = (cache["blocks.0.attn.o.hook_in"] for cache in (after, runs.intact))
    for head in range(4):
        for pos in range(6):
            is_edited = head in (1, 3) and pos in (2, 5)
            source = expected if is_edited else before
            assert torch.allclose(after[:, pos, head], source[:, pos, head], atol=1e-6)


def test_positions_may_differ_between_prompts(llama):
    where = torch.zeros(2, 6, dtype=torch.bool)
    where[0, 1] = where[1, 4] = True
    after = llama.cached(hooks.ablate("0.1", hooks.Zero(), positions=where))["blocks.0.attn.hook_z"]
    is_zero = (after[:, :, 1] == 0).all(-1)
    assert torch.equal(is_zero, where)


@pytest.mark.parametrize("spelling", ["1.2", "L1H2", (1, 2), [(1, 2)], ["L1H2", "1.2"], Head(1, 2)])
def test_every_spelling_of_a_head_is_the_same_ablation(llama, spelling):
    expected = llama.edited(hooks.ablate([Head(1, 2)], hooks.Zero()))
    assert torch.equal(llama.edited(hooks.ablate(spelling, hooks.Zero())), expected)


def test_all_heads_of_the_last_layer_from_a_donor_give_what_they_wrote_there(attention_only):
    """Without norms, logits are a sum: the change is what the layer wrote in the other run."""
    runs = attention_only
    edited = runs.edited(hooks.ablate(["2.0", "2.1"], hooks.Resample(runs.donor)))
    change = sum(
        torch.einsum(
            "bpd,dm,mv->bpv",
            (runs.donor["blocks.2.attn.hook_z"] - runs.intact["blocks.2.attn.hook_z"])[:, :, head],
            runs.bridge.blocks[2].attn.W_O[head],
            runs.bridge.W_U,
        )
        for head in range(2)
    )
    assert close(edited, runs.logits + change)


@pytest.mark.parametrize("runs", ["llama", "bert"])
def test_query_key_and_value_together_are_the_interchange_of_the_head(runs, request):
    """The heads of one group, so that nothing else reads the patched keys and values."""
    runs = request.getfixturevalue(runs)
    heads = ["0.0", "0.1"]
    kv_heads = (
        ["L0KV0"] if runs.intact["blocks.0.attn.hook_k"].shape[2] == 2 else ["L0KV0", "L0KV1"]
    )
    sides = [hooks.query(heads), hooks.key(kv_heads), hooks.value(kv_heads)]
    together = runs.edited(hooks.patch(sides, runs.donor))
    interchanged = runs.edited(hooks.patch(hooks.output(heads), runs.donor))
    assert close(together, interchanged)
    assert not close(together, runs.logits, tolerance=1e-2)


@pytest.mark.parametrize("side", ["query", "key", "value"])
def test_one_side_alone_is_attention_recomputed_with_that_side(bert, side):
    """By hand from the two caches; BERT has no rotation between projection and scores."""
    sources = dict.fromkeys(("query", "key", "value"), bert.intact) | {side: bert.donor}
    q, k, v = (
        sources[name][f"blocks.1.attn.hook_{name[0]}"][:, :, 2]
        for name in ("query", "key", "value")
    )
    expected = (torch.einsum("bqd,bkd->bqk", q, k) / 8**0.5).softmax(-1) @ v
    site = hooks.query("1.2") if side == "query" else getattr(hooks, side)("L1KV2")
    after = bert.cached(hooks.patch(site, bert.donor))["blocks.1.attn.hook_z"]
    assert torch.allclose(after[:, :, 2], expected, atol=1e-5)
    assert torch.equal(after[:, :, 3], bert.intact["blocks.1.attn.hook_z"][:, :, 3])


@pytest.mark.parametrize("kv_head", [0, 1])
@pytest.mark.parametrize("site", [hooks.key, hooks.value])
def test_a_key_value_head_moves_its_own_query_heads_and_no_others(llama, kv_head, site):
    """Cases 17, 35, 36: KV0 serves Q0–Q1, KV1 serves Q2–Q3."""
    after = llama.cached(hooks.patch(site(f"L0KV{kv_head}"), llama.donor))["blocks.0.attn.hook_z"]
    before = llama.intact["blocks.0.attn.hook_z"]
    for head in range(4):
        reads = kv_head_of(Head(0, head), n_heads=4, n_kv_heads=2) == KVHead(0, kv_head)
        assert torch.equal(after[:, :, head], before[:, :, head]) != reads


def test_a_donor_that_is_the_run_itself_changes_nothing(llama):
    """Case 31."""
    edited = llama.edited(hooks.ablate(["0.1", "1.3"], hooks.Resample(llama.intact)))
    assert torch.equal(edited, llama.logits)


def test_caches_and_model_are_the_same_to_the_bit_after_many_edits(llama):
    """Case 33."""
    caches = {name: tensor.clone() for name, tensor in llama.donor.items()}
    weights = {
        name: tensor.clone() for name, tensor in llama.bridge.original_model.state_dict().items()
    }
    edge = hooks.Edge(query=[-1], source=[1])
    every = torch.ones(2, 6, dtype=torch.bool)
    for pairs in (
        hooks.ablate("0.1", hooks.Resample(llama.donor)),
        hooks.ablate("0.1", hooks.Mean(llama.donor, every)),
        hooks.resample_edge("0.1", edge, llama.donor),
        hooks.close_edge("0.1", edge) + hooks.freeze_pattern("1.0", llama.donor),
        hooks.uniform_pattern("0.1") + hooks.patch(hooks.value("L0KV0"), llama.donor),
    ):
        llama.edited(pairs)
    assert all(torch.equal(llama.donor[name], tensor) for name, tensor in caches.items())
    after = llama.bridge.original_model.state_dict()
    assert all(torch.equal(after[name], tensor) for name, tensor in weights.items())
    assert torch.equal(llama.bridge(llama.ids), llama.logits)


def cache_of(z):
    return {"blocks.0.attn.hook_z": z}


@pytest.mark.parametrize(
    ("pairs", "sentence"),
    [
        (
            partial(hooks.ablate, "0.4", hooks.Zero()),
            "there is no head 4 here: this layer has heads 0 to 3 at this hook point.",
        ),
        (
            partial(
                hooks.patch, hooks.key("L0KV2"), {"blocks.0.attn.hook_k": torch.zeros(2, 6, 2, 8)}
            ),
            "there is no head 2 here: this layer has heads 0 to 1 at this hook point.",
        ),
        (
            partial(hooks.ablate, "0.1", hooks.Zero(), positions=[6]),
            "positions must lie between -6 and 5 for prompts of 6 tokens, got [6].",
        ),
        (
            partial(hooks.ablate, "0.1", hooks.Zero(), positions=torch.ones(1, 6)),
            "positions must be a list of numbers or truth values of shape (2, 6), got a tensor of "
            "torch.float32 and shape (1, 6).",
        ),
        (
            partial(hooks.ablate, "0.1", hooks.Resample(cache_of(torch.zeros(1, 6, 4, 8)))),
            "the cached blocks.0.attn.hook_z must have the shape (2, 6, 4, 8) of this run, got "
            "(1, 6, 4, 8); cache as many donor prompts of the same length.",
        ),
        (
            partial(hooks.ablate, "0.1", hooks.Resample(cache_of(torch.zeros(2, 5, 4, 8)))),
            "the cached blocks.0.attn.hook_z must have the shape (2, 6, 4, 8) of this run, got "
            "(2, 5, 4, 8); cache as many donor prompts of the same length.",
        ),
        (
            partial(hooks.ablate, "0.1", hooks.Resample({})),
            "the cache has no blocks.0.attn.hook_z; name it in names_filter when you run the donor "
            "with run_with_cache.",
        ),
        (
            partial(
                hooks.ablate,
                "0.1",
                hooks.Mean(cache_of(torch.zeros(3, 6, 4, 8)), torch.zeros(3, 6, dtype=torch.bool)),
            ),
            "no position is counted, so there is no mean; count one or more.",
        ),
        (
            partial(
                hooks.ablate,
                "0.1",
                hooks.Mean(cache_of(torch.zeros(3, 6, 4, 8)), torch.ones(1, 6, dtype=torch.bool)),
            ),
            "the reference z must have shape (1, 6, 4, 8), that of `counted` and of this layer's "
            "heads, got (3, 6, 4, 8).",
        ),
    ],
)
def test_what_would_be_broadcast_or_missed_is_an_error(llama, pairs, sentence):
    """Cases 31, 35."""
    with pytest.raises(ValueError, match=exactly(sentence)):
        llama.edited(pairs())


def test_a_query_heads_name_is_no_key_value_head():
    sentence = (
        "expected a key/value head such as \"L3KV0\", got '0.1'; `kv_head_of` says which one a "
        "query head reads."
    )
    with pytest.raises(ValueError, match=exactly(sentence)):
        hooks.key("0.1")


def test_a_run_without_the_batch_axis_is_an_error():
    sentence = (
        "expected a tensor with axes for batch, heads and two more, got shape (6, 4, 8); run "
        "without remove_batch_dim."
    )
    with pytest.raises(ValueError, match=exactly(sentence)):
        head_mask([1], torch.zeros(6, 4, 8), axis=2)
