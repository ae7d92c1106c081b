"""Our attention inside every family: that it runs there, and that it sees what the family sees."""

from dataclasses import replace

import pytest
import torch

import interp.attention
from interp.models.families import output_of, small_ids, small_model
from interp.models.names import FAMILIES
from interp.models.parity import POINTS
from interp.models.plain import Plain, attend
from interp.models.sharing import twin
from tests.models.conftest import BY_NAME, REFUSED, RUNNING, each, own_of, plain_of

SPECIAL = [variant for variant in RUNNING if variant.plainer or variant.silenced]


def observed(plain, ids, point, **inputs):
    """One quantity in each layer, and the output."""
    seen = []

    def hook(layer, name, tensor):
        if name == point:
            seen.append(tensor)
        return tensor

    with plain.hooked(hook):
        output = output_of(plain(ids, **inputs))
    return seen, output


def test_the_list_of_families_is_what_runs():
    assert set(FAMILIES) == {variant.family for variant in RUNNING}


@each(RUNNING)
def test_each_of_six_points_is_passed_once_in_each_layer(name):
    passed = []

    def hook(layer, point, tensor):
        passed.append((layer, point))
        return tensor

    plain = plain_of(name)
    with plain.hooked(hook):
        plain(small_ids(2))
    assert passed == [(layer, point) for layer in range(3) for point in POINTS]


@each(RUNNING)
def test_no_family_runs_another_attention(name, monkeypatch):
    """Where ours raises, the model raises: nothing falls back to another in silence."""
    plain = plain_of(name)

    def broken(*args, **kwargs):
        raise ArithmeticError("ours was called")

    monkeypatch.setattr(interp.attention, "attention", broken)
    with pytest.raises(ArithmeticError, match="ours was called"):
        plain(small_ids(1))
    with pytest.raises(ArithmeticError, match="ours was called"):
        Plain(small_model(BY_NAME[name]))


@each(SPECIAL)
def test_what_is_special_about_a_variant_moves_its_output(name):
    variant = BY_NAME[name]
    ids = small_ids(2)
    with torch.no_grad():
        special = output_of(own_of(name)(input_ids=ids))
        plainer = output_of(small_model(variant, without_speciality=True)(input_ids=ids))
    assert (special - plainer).abs().max() > 1e-3 * special.abs().max()


@pytest.mark.parametrize("name", ["bloom", "mpt", "falcon, ALiBi", "t5, encoder"])
def test_the_bias_is_in_the_scores(name):
    """Scores less the scaled product are the bias; without it the output moves."""
    plain, ids = plain_of(name), small_ids(2)
    found = []

    def without_bias(call):
        bias, mask = call.options["bias"], call.options["mask"]
        seen = []

        def hook(point, tensor):
            if point == "scores":
                seen.append(tensor)
            return tensor

        call.options["hook"] = hook
        attend(call)
        product = call.query @ call.key.mT * call.options["scale"]
        allowed = torch.ones(1, 1, 12, 12, dtype=torch.bool) if mask is None else mask
        added = (seen[0] - product).masked_fill(~allowed, 0)
        found.append((added - bias.masked_fill(~allowed, 0)).abs().max())
        return attend(type(call)(call.layer, call.query, call.key, call.value,
                                 {**call.options, "bias": None}))  # fmt: skip

    intact = output_of(plain(ids))
    with plain.attending(without_bias):
        moved = output_of(plain(ids)) - intact
    assert max(found) < 1e-5
    assert moved.abs().max() > 1e-3 * intact.abs().max()


@each(RUNNING)
def test_reading_patterns_changes_nothing(name):
    """The output with a hook that reads is that without, to the last bit."""
    plain, ids = plain_of(name), small_ids(2)
    patterns, output = observed(plain, ids, "pattern")
    assert torch.equal(output, output_of(plain(ids)))
    largest = [pattern[:, :, 4:].amax(-1).mean() for pattern in patterns]
    assert max(largest) > 0.25  # attention is far from even


@each(RUNNING)
def test_the_last_token_moves_earlier_ones_in_encoders_only(name):
    plain, ids = plain_of(name), small_ids(1)
    other = ids.clone()
    other[0, -1] = (ids[0, -1] + 1 - 3) % 37 + 3
    here, there = output_of(plain(ids)), output_of(plain(other))
    moved = (here - there)[0, :-1].abs().max() / here.abs().max()
    is_encoder = BY_NAME[name].kind != "causal"
    assert plain.is_causal == (not is_encoder)
    # experts take their tokens together, and round as many as they are: up to 3e-7 of the output
    assert moved > 1e-3 if is_encoder else moved < 1e-6


@pytest.mark.parametrize(
    ("name", "windows"),
    [
        ("mistral", [4, 4, 4]),
        ("mixtral", [4, 4, 4]),
        ("gpt_neo", [4, None, 4]),
        ("gemma2, windows", [4, None, 4]),
        ("gemma2, soft-cap", [4, None, 4]),
        ("gemma3_text", [4, None, 4]),
        ("gpt_oss", [4, None, 4]),
    ],
)
def test_a_window_closes_far_keys_on_its_layers_only(name, windows):
    """`allowed` tells what a head cannot see from what it does not look at."""
    plain, ids = plain_of(name), small_ids(2)
    patterns, _ = observed(plain, ids, "pattern")
    distance = torch.arange(12)[:, None] - torch.arange(12)
    for window, pattern, allowed in zip(windows, patterns, plain.allowed(ids), strict=True):
        is_open = (distance >= 0) & (distance < (window or 12))
        assert torch.equal(allowed, is_open.expand_as(allowed))
        assert (pattern.masked_select(~is_open) == 0).all()
        assert (pattern.masked_select(is_open) > 0).all()


def test_an_encoder_has_windows_to_both_sides():
    plain = plain_of("modernbert")
    distance = (torch.arange(12)[:, None] - torch.arange(12)).abs()
    full, *local = plain.allowed(small_ids(1))
    assert full.all()
    for allowed in local:
        assert torch.equal(allowed[0, 0], distance <= 2)


@pytest.mark.parametrize(
    ("name", "readers"),
    [
        ("llama", {0}),
        ("llama, grouped", {0, 1}),
        ("llama, multi-query", {0, 1, 2, 3}),
        ("falcon", {0, 1, 2, 3}),
        ("falcon, grouped", {0, 1}),
        ("qwen2", {0, 1}),
        ("phi3", {0, 1}),
    ],
)
@pytest.mark.parametrize("point", ["key", "value"])
def test_a_kv_head_is_read_by_its_group_only(name, readers, point):
    plain, ids = plain_of(name), small_ids(2)
    intact, _ = observed(plain, ids, "z")
    seen = []

    def hook(layer, here, tensor):
        if layer == 1 and here == point:
            first = torch.arange(tensor.shape[1])[:, None, None] == 0
            return torch.where(first, -tensor, tensor)
        if here == "z":
            seen.append(tensor)
        return tensor

    with plain.hooked(hook):
        plain(ids)
    changed = {head for head in range(4) if not torch.equal(seen[1][:, head], intact[1][:, head])}
    assert changed == readers


def test_sinks_take_a_part_of_every_row():
    patterns, _ = observed(plain_of("gpt_oss"), small_ids(2), "pattern")
    for pattern in patterns:
        assert (pattern.sum(-1) < 1 + 1e-6).all()
        assert pattern.sum(-1).mean() < 0.95
    for pattern in observed(plain_of("llama"), small_ids(2), "pattern")[0]:
        torch.testing.assert_close(pattern.sum(-1), torch.ones_like(pattern[..., 0]))


def test_a_head_of_shared_layers_is_edited_in_one_layer():
    """ALBERT runs one set of weights three times; an edit in layer 1 leaves layer 0 as it was."""
    plain, ids = plain_of("albert"), small_ids(2)
    assert len(set(plain.anatomy.layers)) == 3
    shared = {id(layer.albert_layers[0].attention.query.weight) for layer in plain.anatomy.layers}
    assert len(shared) == 1
    intact, _ = observed(plain, ids, "z")
    seen = []

    def hook(layer, name, tensor):
        if name != "z":
            return tensor
        seen.append(tensor)
        return tensor * 0 if layer == 1 else tensor

    with plain.hooked(hook):
        plain(ids)
    same = [torch.equal(one, other) for one, other in zip(seen, intact, strict=True)]
    assert same == [True, True, False]


@each(RUNNING)
def test_a_copy_goes_back_to_its_own_attention(name):
    """The modules that the bridge is built around share weights with ours, and nothing else."""
    plain, ids = plain_of(name), small_ids(2)
    copied = twin(plain.module)
    copied.set_attn_implementation("eager")
    passed = []
    with plain.hooked(lambda layer, point, tensor: passed.append(point) or tensor):
        output = output_of(copied(input_ids=ids))
    assert passed == []
    expected = output_of(plain(ids))
    torch.testing.assert_close(output, expected, atol=1e-5 * expected.abs().max().item(), rtol=0)
    shared = {id(parameter) for parameter in plain.module.parameters()}
    assert {id(parameter) for parameter in copied.parameters()} == shared


def test_dynamic_rope_forgets_longer_texts():
    """transformers keeps the angles of the longest text so far; a text's output is its own here."""
    plain, ids = plain_of("llama, dynamic rope"), small_ids(1, 10)
    fresh = output_of(small_model(BY_NAME["llama, dynamic rope"])(input_ids=ids))
    plain(small_ids(1, 30))
    torch.testing.assert_close(output_of(plain(ids)), fresh, atol=1e-5, rtol=0)


@each(REFUSED)
def test_an_encoder_with_a_decoder_is_refused(name):
    model = small_model(BY_NAME[name])
    with pytest.raises(
        ValueError, match=r"is an encoder with a decoder: .* load the encoder alone"
    ):
        Plain(model)


def test_a_family_that_looks_nothing_up_is_refused():
    """XGLM computes attention in its own code; it would stay with it in silence."""
    from transformers import XGLMConfig, XGLMForCausalLM

    config = XGLMConfig(
        vocab_size=40, d_model=32, num_layers=3, attention_heads=4, ffn_dim=48,
        max_position_embeddings=32,
    )  # fmt: skip
    with pytest.raises(
        ValueError, match=r"XGLMForCausalLM called our attention 0 times .* in each of its 3 layers"
    ):
        Plain(XGLMForCausalLM(config))


def test_falcon_that_adds_its_bias_twice_is_refused():
    """Eager Falcon of transformers 5.24 has ALiBi in its mask and adds it again to the scores."""
    variant = replace(BY_NAME["falcon, ALiBi"], reference="eager")
    with pytest.raises(ValueError, match=r"FalconForCausalLM gives another output .* own 'eager'"):
        Plain(small_model(variant))


def test_an_argument_left_out_is_noticed(monkeypatch):
    """A family that hands over something we do not know must not run without it."""
    monkeypatch.setattr(
        Plain,
        "answer",
        lambda self, module, query, key, value, options: interp.attention.attention(
            query, key, value, scale=options["scale"], mask=options["mask"]
        ),
    )
    with pytest.raises(ValueError, match="gives another output with our attention"):
        Plain(small_model(BY_NAME["gpt_oss"]))
