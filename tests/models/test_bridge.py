"""On the bridge of every family, every edit acts or is refused."""

import copy

import pytest
import torch

from interp.models.bridge import boot
from tests.tiny_bridges import FAMILIES, exactly, logits, prompts, tiny_model, without_head

ENCODER_DECODERS = ("t5", "bart")
DECODERS_AND_ENCODERS = [family for family in FAMILIES if family not in (*ENCODER_DECODERS, "xglm")]
HEAD = 1
DELEGATED = {
    "t5": "decoder_blocks.0.cross_attn",
    "bart": "decoder_blocks.0.cross_attn",
}


@pytest.fixture(scope="module")
def booted(tokenizer):
    """Each family's model as it was and a bridge around a copy, made once."""
    made = {}

    def get(family):
        if family not in made:
            model = tiny_model(family)
            made[family] = model, boot(copy.deepcopy(model), tokenizer, name="tiny")
        return made[family]

    return get


def options(family, ids):
    return {"decoder_input_ids": ids.flip(0)} if family in ENCODER_DECODERS else {}


def close(one, other, tolerance=1e-5):
    return (one - other).abs().max() <= tolerance * other.abs().max()


def zeroed(tensor, hook):
    edited = tensor.clone()
    edited[:, HEAD] = 0
    return edited


def zeroed_in_place(tensor, hook):
    tensor[:, HEAD] = 0


@pytest.mark.parametrize("family", [*DECODERS_AND_ENCODERS, *ENCODER_DECODERS])
@pytest.mark.parametrize("zero_pattern", [zeroed, zeroed_in_place])
def test_zeroing_a_pattern_removes_the_heads_columns_of_the_projection(
    booted, family, zero_pattern
):
    """Cases 22, 26: on every family, with a new tensor and in place, never an effect of 0."""
    model, bridge = booted(family)
    ids = prompts()
    given = options(family, ids)
    name = f"{DELEGATED.get(family, 'blocks.0.attn')}.hook_pattern"
    edited = bridge.run_with_hooks(ids, fwd_hooks=[(name, zero_pattern)], **given)
    assert close(edited, logits(without_head(model, family, HEAD), ids, **given))
    assert not close(edited, logits(model, ids, **given), tolerance=1e-2)


@pytest.mark.parametrize("family", [*DECODERS_AND_ENCODERS, *ENCODER_DECODERS])
def test_the_bridge_gives_the_models_logits(booted, family):
    model, bridge = booted(family)
    ids = prompts()
    assert close(bridge(ids, **options(family, ids)), logits(model, ids, **options(family, ids)))


@pytest.mark.parametrize("family", DECODERS_AND_ENCODERS)
def test_scores_that_leave_one_key_make_the_head_hand_over_its_value(booted, family):
    """Case 22 for scores: z is then the value of that key, and z is what is replaced by hand."""
    _, bridge = booted(family)
    ids = prompts()
    _, cache = bridge.run_with_cache(ids)
    value = cache["blocks.0.attn.hook_v"]
    own = value[:, :, HEAD * value.shape[2] // 4]

    def only_itself(scores, hook):
        edited = scores.clone()
        n_pos = scores.shape[-1]
        edited[:, HEAD] = torch.where(torch.eye(n_pos, dtype=torch.bool), 0.0, -torch.inf)
        return edited

    def own_value(z, hook):
        edited = z.clone()
        edited[:, :, HEAD] = own
        return edited

    by_scores = bridge.run_with_hooks(
        ids, fwd_hooks=[("blocks.0.attn.hook_attn_scores", only_itself)]
    )
    by_hand = bridge.run_with_hooks(ids, fwd_hooks=[("blocks.0.attn.hook_z", own_value)])
    assert close(by_scores, by_hand)
    assert not close(by_scores, bridge(ids), tolerance=1e-3)


@pytest.mark.parametrize(
    ("family", "layer", "projections"),
    [
        ("bert", "bert.encoder.layer.0.attention.self", ("query", "key", "value")),
        ("distilbert", "distilbert.transformer.layer.0.attention", ("q_lin", "k_lin", "v_lin")),
        ("opt", "model.decoder.layers.0.self_attn", ("q_proj", "k_proj", "v_proj")),
        ("llama", "model.layers.0.self_attn", ("q_proj", "k_proj", "v_proj")),
        ("gptj", "transformer.h.0.attn", ("q_proj", "k_proj", "v_proj")),
    ],
)
@pytest.mark.parametrize("side", [0, 1, 2])
def test_doubling_a_heads_query_key_or_value_doubles_its_rows_of_the_weights(
    booted, family, layer, projections, side
):
    """Case 17: in llama, key/value head 1 is addressed as such, and has rows 8 to 15."""
    model, bridge = booted(family)
    ids = prompts()
    changed = copy.deepcopy(model)
    projection = changed.get_submodule(f"{layer}.{projections[side]}")
    for parameter in projection.parameters():
        parameter[8:16] *= 2

    def doubled(tensor, hook):
        edited = tensor.clone()
        edited[:, :, HEAD] *= 2
        return edited

    name = f"blocks.0.attn.hook_{'qkv'[side]}"
    edited = bridge.run_with_hooks(ids, fwd_hooks=[(name, doubled)])
    assert close(edited, logits(changed, ids))
    assert not close(edited, logits(model, ids), tolerance=1e-3)


@pytest.mark.parametrize("family", ["bert", "opt", "llama", "gpt2", "gemma2"])
def test_the_heads_and_the_bias_add_up_to_the_projections_output(booted, family):
    """Cases 27, 28: compared there; on BERT and Gemma-2, hook_attn_out comes after a norm."""
    _, bridge = booted(family)
    _, cache = bridge.run_with_cache(prompts())
    attention = bridge.blocks[0].attn
    heads = torch.einsum("bphd,hdm->bpm", cache["blocks.0.attn.hook_z"], attention.W_O)
    total = heads if attention.b_O is None else heads + attention.b_O
    assert close(total, cache["blocks.0.attn.o.hook_out"])


@pytest.mark.parametrize("point", ["hook_pattern", "hook_attn_scores"])
@pytest.mark.parametrize("edit", [zeroed, zeroed_in_place])
def test_an_edit_that_cannot_act_is_refused_by_name_and_reading_is_not(booted, point, edit):
    _, bridge = booted("xglm")
    name = f"blocks.0.attn.{point}"
    with pytest.raises(
        ValueError,
        match=exactly(
            f"an edit of {name} cannot act on this model, which has used the value "
            "before the hook sees it; edit hook_pattern, hook_z, hook_q, hook_k or "
            "hook_v of the same attention instead."
        ),
    ):
        bridge.run_with_hooks(prompts(), fwd_hooks=[(name, edit)])
    _, cache = bridge.run_with_cache(prompts(), names_filter="blocks.0.attn.hook_pattern")
    rows = cache["blocks.0.attn.hook_pattern"].sum(-1)
    assert torch.allclose(rows, torch.ones_like(rows))


def test_edits_act_when_the_library_rewrites_the_weights(tokenizer):
    """In compatibility mode: without a pattern there is no z, and the logits are others."""
    bridge = boot(tiny_model("opt"), tokenizer, name="tiny")
    bridge.enable_compatibility_mode()

    def no_z(z, hook):
        edited = z.clone()
        edited[:, :, HEAD] = 0
        return edited

    by_pattern, by_z = (
        bridge.run_with_hooks(prompts(), fwd_hooks=[(f"blocks.0.attn.{point}", edit)])
        for point, edit in (("hook_pattern", zeroed), ("hook_z", no_z))
    )
    assert close(by_pattern, by_z)
    assert not close(by_pattern, bridge(prompts()), tolerance=1e-2)


# TransformerLens hands its cache on under a name that transformers will drop in 5.40.
@pytest.mark.filterwarnings("ignore:`past_key_values` is deprecated:FutureWarning")
@pytest.mark.parametrize("family", ["opt", "gpt_neo", "gptj", "llama", "gpt2", "mpt", "gemma3"])
def test_generation_with_a_cache_gives_the_models_own_tokens(booted, family):
    model, bridge = booted(family)
    ids = prompts(1)
    ours = bridge.generate(ids, max_new_tokens=5, do_sample=False, stop_at_eos=False, verbose=False)
    theirs = ids
    for _ in range(5):
        theirs = torch.cat([theirs, logits(model, theirs)[:, -1:].argmax(-1)], dim=1)
    assert torch.equal(ours, theirs)


@pytest.mark.parametrize("family", ["bert", "distilbert", "opt", "gpt_neo"])
def test_a_padded_prompt_gives_the_logits_of_the_prompt_alone(booted, family):
    model, bridge = booted(family)
    short = prompts(1, 4)
    padded = torch.cat([short, torch.ones(1, 2, dtype=torch.long)], dim=1)
    mask = torch.tensor([[1, 1, 1, 1, 0, 0]])
    assert close(bridge(padded, attention_mask=mask)[:, :4], logits(model, short))


@pytest.mark.parametrize("family", ["opt", "gptj", "gpt_neo", "llama"])
def test_a_prompt_padded_on_the_left_gives_the_logits_of_the_prompt_alone(booted, family):
    model, bridge = booted(family)
    short = prompts(1, 4)
    padded = torch.cat([torch.ones(1, 2, dtype=torch.long), short], dim=1)
    mask = torch.tensor([[0, 0, 1, 1, 1, 1]])
    positions = torch.tensor([[0, 0, 0, 1, 2, 3]])
    given = {} if family == "opt" else {"position_ids": positions}  # OPT counts by its mask
    assert close(bridge(padded, attention_mask=mask, **given)[:, 2:], logits(model, short))


def test_a_bridge_in_training_mode_says_that_it_drops_nothing(tokenizer):
    bridge = boot(tiny_model("opt", attention_dropout=0.1), tokenizer, name="tiny")
    bridge.train()
    sentence = (
        "OPTAttention asks for attention dropout 0.1, which is not applied here; put the model in "
        "eval mode."
    )
    with pytest.raises(ValueError, match=exactly(sentence)):
        bridge(prompts())


@pytest.mark.parametrize("family", ["opt", "gpt_neo"])
def test_a_copied_bridge_says_that_it_is_one(tokenizer, family):
    bridge = copy.deepcopy(boot(tiny_model(family), tokenizer, name="tiny"))
    sentence = "this bridge is a copy of another; boot a copy of the model instead."
    with pytest.raises(ValueError, match=exactly(sentence)):
        bridge(prompts())


def test_a_model_that_the_library_computes_otherwise_is_refused(tokenizer):
    """Case 11: TransformerLens ignores this flag of GPT-2, and its logits are others."""
    model = tiny_model("gpt2", scale_attn_weights=False)
    with pytest.raises(
        ValueError, match=r"^TransformerLens computes GPT2LMHeadModel otherwise than"
    ):
        boot(model, tokenizer, name="tiny")


def test_the_bridge_of_a_loaded_model_leaves_the_plain_model_alone(tiny):
    """Case 25: the bridge is a copy around the same weights; plain stays the same to the bit."""
    ids = prompts()
    before = tiny.plain(ids).logits
    tiny.bridge.run_with_hooks(ids, fwd_hooks=[("blocks.0.attn.hook_pattern", zeroed)])
    assert torch.equal(tiny.plain(ids).logits, before)
    shared = tiny.plain.module.lm_head.weight.data_ptr()
    assert tiny.bridge.unembed.original_component.weight.data_ptr() == shared
    edited = tiny.bridge.run_with_hooks(ids, fwd_hooks=[("blocks.1.attn.hook_pattern", zeroed)])

    def same_edit(layer, name, tensor):
        return zeroed(tensor, None) if (layer, name) == (1, "pattern") else tensor

    with tiny.plain.hooked(same_edit):
        assert close(edited, tiny.plain(ids).logits)
