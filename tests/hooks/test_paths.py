"""Path patching, against sums written out where the residual stream is a sum."""

import pytest
import torch

from interp import hooks
from tests.tiny_bridges import exactly

SENDER = (0, 1)


def writes(runs, cache, layer, head):
    """What a head adds to the residual stream."""
    z = cache[f"blocks.{layer}.attn.hook_z"][:, :, head]
    return z @ runs.bridge.blocks[layer].attn.W_O[head]


def change(runs, layer=0, head=1):
    return writes(runs, runs.donor, layer, head) - writes(runs, runs.intact, layer, head)


def close(one, other, tolerance=1e-5):
    return (one - other).abs().max() <= tolerance * other.abs().max()


def test_to_the_logits_it_is_the_difference_of_direct_logit_attributions(attention_only):
    runs = attention_only
    pairs = hooks.direct(
        runs.bridge, senders=SENDER, intact=runs.intact, donor=runs.donor, mlps=hooks.MLPs.LIVE
    )
    expected = runs.logits + change(runs) @ runs.bridge.W_U
    assert close(runs.edited(pairs), expected)
    whole = runs.edited(hooks.ablate(SENDER, hooks.Resample(runs.donor)))
    assert not close(whole, expected, tolerance=1e-2)


def test_frozen_mlps_leave_the_final_norm_alone_between_sender_and_logits(llama):
    """The sender's change on the last residual, then the model's own norm and unembedding."""
    pairs = hooks.direct(
        llama.bridge,
        senders=SENDER,
        intact=llama.intact,
        donor=llama.donor,
        mlps=hooks.MLPs.FROZEN,
    )
    final = llama.intact["blocks.1.hook_out"] + change(llama)
    model = llama.bridge.original_model
    expected = model.lm_head(model.model.norm(final))
    assert close(llama.edited(pairs), expected)


def test_live_mlps_answer_to_the_sender(llama):
    """By hand: each MLP runs on its own input with all heads' outputs but the sender's frozen."""
    pairs = hooks.direct(
        llama.bridge, senders=SENDER, intact=llama.intact, donor=llama.donor, mlps=hooks.MLPs.LIVE
    )
    residual = llama.intact["blocks.0.hook_in"]
    for layer in range(2):
        block = llama.bridge.original_model.model.layers[layer]
        residual = residual + llama.intact[f"blocks.{layer}.hook_attn_out"]
        if layer == 0:
            residual = residual + change(llama)
        residual = residual + block.mlp(block.post_attention_layernorm(residual))
    model = llama.bridge.original_model
    expected = model.lm_head(model.model.norm(residual))
    assert close(llama.edited(pairs), expected)
    assert not close(expected, llama.logits, tolerance=1e-2)


@pytest.mark.parametrize("side", ["query", "key", "value"])
def test_to_a_head_it_is_attention_recomputed_on_a_residual_with_the_senders_change(
    attention_only, side
):
    """From layer 0 to layer 2 past layer 1, whose heads do not pass the change on."""
    runs = attention_only
    attn, receiver = runs.bridge.blocks[2].attn, 1
    site = (
        hooks.query((2, receiver)) if side == "query" else getattr(hooks, side)(f"L2KV{receiver}")
    )
    pairs = hooks.path(
        runs.bridge,
        runs.ids,
        senders=SENDER,
        receivers=site,
        intact=runs.intact,
        donor=runs.donor,
        mlps=hooks.MLPs.LIVE,
    )
    residual = runs.intact["blocks.2.hook_in"]
    read = {
        name: residual + (change(runs) if name == side else 0) for name in ("query", "key", "value")
    }
    q, k, v = (
        read[name] @ getattr(attn, f"W_{name[0].upper()}")[receiver]
        + getattr(attn, f"b_{name[0].upper()}")[receiver]
        for name in ("query", "key", "value")
    )
    scores = (q @ k.mT / 8**0.5).masked_fill(~torch.ones(6, 6, dtype=torch.bool).tril(), -torch.inf)
    z = scores.softmax(-1) @ v
    moved = z - runs.intact["blocks.2.attn.hook_z"][:, :, receiver]
    expected = runs.logits + moved @ attn.W_O[receiver] @ runs.bridge.W_U
    assert close(runs.edited(pairs), expected)
    assert not close(expected, runs.logits, tolerance=1e-3)


@pytest.mark.parametrize("runs", ["llama", "attention_only"])
def test_the_change_given_to_every_live_consumer_is_the_resample_ablation(runs, request):
    runs = request.getfixturevalue(runs)

    def with_change(out, hook):
        return out + change(runs)

    given = runs.edited([("blocks.0.hook_attn_out", with_change)])
    ablated = runs.edited(hooks.ablate(SENDER, hooks.Resample(runs.donor)))
    assert close(given, ablated)


def test_what_later_heads_pass_on_is_in_the_ablation_and_not_on_the_path(attention_only):
    """Three layers: the whole effect is more than the direct one and those through one head."""
    runs = attention_only
    common = {"senders": SENDER, "intact": runs.intact, "donor": runs.donor}
    whole = runs.edited(hooks.ablate(SENDER, hooks.Resample(runs.donor)))
    direct = runs.edited(hooks.direct(runs.bridge, **common, mlps=hooks.MLPs.LIVE))
    every = [
        site
        for layer in (1, 2)
        for site in (
            hooks.query([(layer, 0), (layer, 1)]),
            hooks.key([f"L{layer}KV0", f"L{layer}KV1"]),
            hooks.value([f"L{layer}KV0", f"L{layer}KV1"]),
        )
    ]
    through = runs.edited(
        hooks.path(runs.bridge, runs.ids, **common, receivers=every, mlps=hooks.MLPs.LIVE)
    )
    assert not close(direct + through - runs.logits, whole, tolerance=1e-3)


def test_in_two_layers_the_direct_path_and_those_to_all_heads_add_up(attention_only):
    """From layer 1 of three, nothing passes two heads, so the two kinds of path are all."""
    runs = attention_only
    common = {"senders": (1, 0), "intact": runs.intact, "donor": runs.donor}
    whole = runs.edited(hooks.ablate((1, 0), hooks.Resample(runs.donor)))
    direct = runs.edited(hooks.direct(runs.bridge, **common, mlps=hooks.MLPs.LIVE))
    receivers = [
        hooks.query(["2.0", "2.1"]),
        hooks.key(["L2KV0", "L2KV1"]),
        hooks.value(["L2KV0", "L2KV1"]),
    ]
    through = runs.edited(
        hooks.path(runs.bridge, runs.ids, **common, receivers=receivers, mlps=hooks.MLPs.LIVE)
    )
    assert close(direct + through - runs.logits, whole)


def test_a_receiver_below_the_sender_is_an_error(llama):
    sentence = (
        "a receiver in layer 0 hears no sender of layer 1 or above; receivers must lie higher than "
        "the first sender."
    )
    with pytest.raises(ValueError, match=exactly(sentence)):
        hooks.path(
            llama.bridge,
            llama.ids,
            senders="1.0",
            receivers=hooks.query("0.1"),
            intact=llama.intact,
            donor=llama.donor,
            mlps=hooks.MLPs.LIVE,
        )


def test_a_receiver_named_by_its_output_is_an_error(llama):
    sentence = "a receiver reads by query, key or value; name it by one of these, not by output."
    with pytest.raises(ValueError, match=exactly(sentence)):
        hooks.path(
            llama.bridge,
            llama.ids,
            senders="0.0",
            receivers=hooks.output("1.1"),
            intact=llama.intact,
            donor=llama.donor,
            mlps=hooks.MLPs.LIVE,
        )
