"""Nothing silently does nothing, and nothing is left behind."""

import copy
from functools import partial

import pytest
import torch
from transformer_lens.config import TransformerBridgeConfig
from transformer_lens.model_bridge import TransformerBridge

from interp import guards, hooks
from interp.models.bridge import boot
from tests.tiny_bridges import exactly, prompts, tiny_model


@pytest.fixture(scope="module")
def bridge(tokenizer):
    return boot(tiny_model("llama"), tokenizer, name="tiny")


@pytest.fixture
def native():
    """A bridge on which TransformerLens discards edits of scores, and nobody has sewn it up."""
    config = TransformerBridgeConfig(
        d_model=16, d_head=8, n_heads=2, n_layers=1, n_ctx=16, d_vocab=60, act_fn="gelu", seed=0
    )
    return TransformerBridge.boot_native(config)


def halved(tensor, hook):
    return tensor / 2


def n_hooks(bridge):
    return sum(len(module._forward_hooks) for module in bridge.modules())


def test_a_guarded_run_is_the_plain_run(bridge):
    pairs = hooks.ablate("0.1", hooks.Zero())
    plainly = TransformerBridge.run_with_hooks(bridge, prompts(), fwd_hooks=pairs)
    assert torch.equal(guards.run(bridge, prompts(), pairs), plainly)


class InterruptedHookError(Exception):
    pass


@pytest.mark.parametrize("error", [InterruptedHookError, KeyboardInterrupt])
def test_after_an_error_in_a_hook_the_model_is_as_before(bridge, error):
    """Case 19, and Ctrl-C likewise: the same logits to the bit, no hook left, no flag changed."""
    ids = prompts()
    intact, n_before, flags = bridge(ids), n_hooks(bridge), copy.deepcopy(vars(bridge.cfg))

    def interrupted(tensor, hook):
        raise error

    pairs = [("blocks.0.attn.hook_z", halved), ("blocks.1.attn.hook_pattern", interrupted)]
    for attempt in (
        partial(guards.run, bridge, ids, pairs),
        partial(bridge.run_with_hooks, ids, fwd_hooks=pairs),
    ):
        with pytest.raises(error):
            attempt()
        assert torch.equal(bridge(ids), intact)
    with pytest.raises(error), bridge.hooks(fwd_hooks=pairs):
        bridge(ids)
    assert torch.equal(bridge(ids), intact)
    assert n_hooks(bridge) == n_before
    assert vars(bridge.cfg) == flags


def test_a_persons_own_hooks_survive_and_are_named(bridge):
    """Case 20."""
    bridge.add_hook("blocks.1.attn.hook_z", halved)
    try:
        theirs = bridge(prompts())
        guards.run(bridge, prompts(), hooks.ablate("0.1", hooks.Zero()))
        assert torch.equal(bridge(prompts()), theirs)
        assert guards.attached_hooks(bridge) == ["blocks.1.attn.o.hook_in"]
    finally:
        bridge.reset_hooks()
    assert guards.attached_hooks(bridge) == []


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("blocks.0.attn.hook_patern", "did you mean 'blocks.0.attn.hook_pattern'?"),
        ("blocks.7.attn.hook_z", "its layers are 0 to 1."),
    ],
)
def test_a_misspelt_hook_name_is_answered_with_the_nearest(bridge, native, name, hint):
    """Case 21, on our bridge in each of its ways to attach hooks, and on anyone's through `run`."""
    ids, pairs = prompts(), [(name, halved)]

    def in_a_block():
        with bridge.hooks(fwd_hooks=pairs):
            bridge(ids)

    for attempt in (
        partial(guards.run, bridge, ids, pairs),
        partial(bridge.run_with_hooks, ids, fwd_hooks=pairs),
        partial(bridge.run_with_cache, ids, names_filter=["blocks.0.attn.hook_z", name]),
        partial(bridge.run_with_cache, ids, names_filter=name),
        in_a_block,
    ):
        with pytest.raises(
            ValueError, match=exactly(f"this model has no hook point {name!r}; {hint}")
        ):
            attempt()
    with pytest.raises(ValueError, match=r"^this model has no hook point"):
        guards.run(native, ids, pairs)


def test_a_filter_that_matches_nothing_is_an_error(bridge):
    """Case 21."""

    def is_misspelt(name):
        return name.endswith("hook_patern")

    for attempt in (
        partial(bridge.run_with_hooks, prompts(), fwd_hooks=[(is_misspelt, halved)]),
        partial(bridge.run_with_cache, prompts(), names_filter=is_misspelt),
    ):
        with pytest.raises(
            ValueError,
            match=exactly(
                f"the filter is_misspelt matches none of the {len(bridge.hook_dict)} hook "
                "points; see bridge.hook_dict."
            ),
        ):
            attempt()


@pytest.mark.parametrize(
    ("argument", "instead"),
    [
        ("fwd_hooks", "attach hooks around the call: with bridge.hooks(fwd_hooks=...): ..."),
        ("head_mask", "transformers accepts it and does nothing; use interp.hooks.ablate"),
        ("atention_mask", "did you mean 'attention_mask'?"),
    ],
)
def test_an_argument_that_nobody_reads_is_an_error(bridge, argument, instead):
    """Cases 21, 24: `run_with_cache(fwd_hooks=...)`, and old scripts' `head_mask`."""
    for attempt in (bridge, bridge.run_with_cache):
        with pytest.raises(
            ValueError, match=exactly(f"a forward of this model takes no {argument!r}; {instead}")
        ):
            attempt(prompts(), **{argument: []})


def test_a_hook_that_never_fires_is_an_error(bridge, native):
    def in_a_block():
        with bridge.hooks(fwd_hooks=pairs):
            bridge(prompts(), stop_at_layer=0)

    name = "blocks.0.attn.hook_z"
    pairs = [("hook_embed", halved), (name, halved)]
    sentence = (
        f"the hooks at {name} never fired, so they changed nothing; this model does not pass "
        "there, or the block was left before it ran."
    )
    for attempt in (
        partial(bridge.run_with_hooks, prompts(), fwd_hooks=pairs, stop_at_layer=0),
        partial(guards.run, native, prompts(), pairs, stop_at_layer=0),
        in_a_block,
    ):
        with pytest.raises(ValueError, match=exactly(sentence)):
            attempt()


def test_a_tensor_that_would_be_broadcast_is_an_error(bridge):
    """Case 31: of batch 1."""
    with pytest.raises(
        ValueError,
        match=exactly(
            "the hook at blocks.0.attn.o.hook_in must return shape (2, 6, 4, 8) and "
            "torch.float32, got (1, 6, 4, 8) and torch.float32; a smaller tensor "
            "would be broadcast, so expand it if that is meant."
        ),
    ):
        bridge.run_with_hooks(
            prompts(), fwd_hooks=[("blocks.0.attn.hook_z", lambda z, hook: z[:1])]
        )


def test_an_edit_that_is_discarded_is_an_error_on_anyones_bridge(native):
    """Case 23: scores of a native model, whose edits TransformerLens throws away."""
    with pytest.raises(
        ValueError, match=r"^an edit of blocks\.0\.attn\.hook_attn_scores fires and"
    ):
        guards.run(native, prompts(), hooks.uniform_pattern("0.1"))


@pytest.mark.parametrize("point", ["z", "q", "k", "v", "pattern"])
def test_edits_that_act_pass_on_a_native_bridge(native, point):
    name = f"blocks.0.attn.hook_{point}"
    edited = guards.run(native, prompts(), [(name, halved)])
    assert not torch.equal(edited, native(prompts()))


def test_a_layer_that_writes_nothing_is_no_false_alarm(tokenizer):
    """Case 23: an effect of 0 is right where the output projection is 0, or the edit is none."""
    model = tiny_model("llama")
    for layer in model.model.layers:
        layer.self_attn.o_proj.weight.zero_()
    bridge = boot(model, tokenizer, name="tiny")
    edited = guards.run(bridge, prompts(), hooks.ablate("0.1", hooks.Zero()))
    assert torch.equal(edited, bridge(prompts()))


def test_one_token_shows_nothing_of_patterns_and_is_no_false_alarm(bridge):
    name = "blocks.0.attn.hook_pattern"
    assert guards.edit_acts(bridge, prompts(length=1), name) is False
    assert guards.edit_acts(bridge, prompts(), name) is True


def test_further_inputs_of_the_model_reach_the_run_and_its_probe(tokenizer):
    """Padding, and a decoder's own prompt."""
    bart = boot(tiny_model("bart"), tokenizer, name="tiny")
    ids, mask = prompts(), torch.tensor([[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0]])
    pairs = [("decoder_blocks.0.cross_attn.hook_pattern", halved)]
    options = {"decoder_input_ids": ids.flip(0), "attention_mask": mask}
    edited = guards.run(bart, ids, pairs, **options)
    assert torch.equal(edited, bart.run_with_hooks(ids, fwd_hooks=pairs, **options))
    assert not torch.equal(edited, bart(ids, **options))
