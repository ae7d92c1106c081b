"""Value-aware and metric-aware measures: by hand, by another route, and as sums that must hold."""

import math
from dataclasses import replace

import pytest
import torch

from interp.measures.catalogue import MEASURES, described, scores
from interp.measures.direct import dla, projected, pvw
from interp.measures.gradients import (
    attention_gradient,
    score_gradient,
    through_softmax,
)
from interp.measures.mixing import mixing, mixing_norm, mixing_share, source_share
from interp.measures.norms import lengths, norm, norm_share, value_weighted, weighted
from interp.measures.rollout import head_rollout, rolled, rollout, rollout_over_even
from interp.measures.zeroing import head_value_zeroing, moved, value_zeroing
from interp.models.families import small_model
from interp.models.frozen_norm import FrozenNorm
from interp.models.plain import Plain
from interp.models.record import record
from interp.models.stream import streams
from interp.models.template import first_tensor
from interp.models.undefined import UndefinedError
from tests.measures.conftest import ADDING, OTHERS, bare_batch, recorded_family
from tests.models.conftest import BY_NAME

ALL = [*ADDING, *OTHERS]


def by_family(names):
    return pytest.mark.parametrize("name", names)


def everywhere(recorded):
    """The record as if every key were the source."""
    batch = recorded.batch
    return replace(recorded, batch=replace(batch, source=torch.ones_like(batch.source)))


def test_lengths_by_hand():
    """Attention .6 and .4; f gives (3, 4) and (0, 2), so .6 · 5 = 3 and .4 · 2 = .8."""
    pattern = torch.tensor([[[0.6, 0.4]]])
    value = torch.tensor([[[[1.0, 0.0], [0.0, 1.0]]]])
    output = torch.tensor([[[3.0, 4.0], [0.0, 2.0]]])
    assert lengths(pattern, value, output)[0, 0].tolist() == pytest.approx([3.0, 0.8])
    assert weighted(pattern, 2 * value)[0, 0].tolist() == pytest.approx([1.2, 0.8])
    whole = pattern[:, :, None]  # with an axis for queries
    assert lengths(whole, value, output)[0, 0, 0].tolist() == pytest.approx([3.0, 0.8])


def test_projected_by_hand():
    """.6 · (1 · 2) = 1.2 and .4 · (−5 · 2) = −4; two query heads read one kv head."""
    pattern = torch.tensor([[[0.6, 0.4], [1.0, 0.0]]])
    value = torch.tensor([[[[1.0], [-5.0]]]])
    reading = torch.tensor([[[2.0], [3.0]]])
    found = projected(pattern, value, reading)
    assert found[0].tolist() == [pytest.approx([1.2, -4.0]), pytest.approx([3.0, 0.0])]


def test_mixing_by_hand():
    """From elsewhere (3, 0) and (0, 4), together of length 5; of itself (0, 15): 5 / 20."""
    parts = torch.tensor([[[3.0, 0.0], [0.0, 4.0], [0.0, 15.0]]])
    assert mixing_share(parts, torch.tensor([[False, False, True]])).item() == pytest.approx(0.25)
    assert source_share(parts, torch.tensor([[True, False, False]])).item() == pytest.approx(3 / 22)


def test_rollout_by_hand():
    """Two heads, [1, 0] / [0, 1] and [1, 0] / [1, 0] in their rows: mean [1, 0] / [.5, .5]."""
    pattern = torch.tensor([[[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [1.0, 0.0]]]])
    one = rolled(pattern, torch.eye(2)[None])
    assert one[0, 1].tolist() == [0.25, 0.75]
    two = rolled(pattern, one)
    assert two[0, 1].tolist() == [0.4375, 0.5625]  # .25 · [1, 0] + .75 · [.25, .75]


def test_turning_by_hand():
    """From (1, 0) to (1, 1) the cosine is .707; opposite is 2; longer is no turn."""
    intact = torch.tensor([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    edited = torch.tensor([[1.0, 1.0], [-1.0, 0.0], [5.0, 0.0]])
    assert moved(intact, edited).tolist() == pytest.approx([1 - math.sqrt(0.5), 2.0, 0.0])


def test_through_softmax_by_hand():
    """A = (.5, .5), g = (1, 3): the mean is 2, so −.5 and .5. An even gradient gives nothing."""
    pattern = torch.tensor([0.5, 0.5])
    assert through_softmax(pattern, torch.tensor([1.0, 3.0])).tolist() == [-0.5, 0.5]
    assert through_softmax(pattern, torch.tensor([2.0, 2.0])).tolist() == [0.0, 0.0]


def identity_written(recorded):
    """Values of length 1, and a W_O that keeps lengths."""
    value = [torch.zeros_like(layer) for layer in recorded.value]
    for layer in value:
        layer[..., 0] = 1.0
    return replace(recorded, value=value)


@by_family(ALL)
def test_with_identity_values_the_norm_is_attention(name):
    recorded = identity_written(recorded_family(name))
    found = streams(recorded.plain)
    n_heads, d_head, d_model = found[0].output.shape
    keeps = torch.eye(d_head, d_model).expand(n_heads, d_head, d_model)
    changed = [replace(stream, output=keeps) for stream in found]
    recorded.__dict__["streams"] = changed
    attention = torch.stack(
        [(layer * recorded.batch.source[:, None]).sum(-1) for layer in recorded.pattern], 1
    )
    assert torch.allclose(norm(recorded), attention, atol=1e-6)
    assert torch.allclose(value_weighted(recorded), attention, atol=1e-6)
    total = torch.stack([layer.sum(-1) for layer in recorded.pattern], 1)
    assert torch.allclose(norm_share(recorded), attention / total, atol=1e-5)


def test_norm_of_a_llama_by_its_weights():
    recorded = recorded_family("llama, grouped")
    batch = recorded.batch
    found = norm(recorded)
    for layer, block in enumerate(recorded.plain.module.model.layers):
        for head in range(4):
            W_O = block.self_attn.o_proj.weight[:, head * 8 : head * 8 + 8]  # noqa: N806  its name
            carried = (recorded.value[layer][:, head // 2] @ W_O.T).norm(dim=-1)
            expected = (recorded.pattern[layer][:, head] * carried * batch.source).sum(-1)
            assert torch.allclose(found[:, layer, head], expected, atol=1e-5)


def sums_hold(recorded):
    """Σ_j PVW = DLA; and Σ DLA, with what all else puts into the stream, is the difference."""
    plain, batch, rows = recorded.plain, recorded.batch, torch.arange(len(recorded.batch))
    tolerance = 1e-4 * recorded.logits.abs().max().item()
    heads = dla(recorded)
    assert torch.allclose(pvw(everywhere(recorded)), heads, atol=tolerance, rtol=0)

    anatomy = plain.anatomy
    written = sum(
        torch.einsum("ihd,hdm->im", z[rows, :, batch.query], stream.output)
        for z, stream in zip(recorded.z, streams(plain), strict=True)
    )
    with torch.inference_mode():
        others = FrozenNorm(anatomy.final_norm, recorded.final)(recorded.final - written)
        if anatomy.final_norm is not None:
            others = others + anatomy.final_norm(torch.zeros_like(others))
        logits = anatomy.unembedding(others) * anatomy.logit_scale
    rest = logits[rows, batch.answer] - logits[rows, batch.foil]
    intact = recorded.logits[rows, batch.answer] - recorded.logits[rows, batch.foil]
    assert torch.allclose(heads.sum((1, 2)) + rest, intact, atol=tolerance, rtol=0)


@by_family(ADDING)
def test_parts_over_keys_and_heads_sum_to_the_logit_difference(name):
    sums_hold(recorded_family(name))


def test_they_do_on_the_real_model(recorded_smollm2):
    sums_hold(recorded_smollm2)


@by_family(OTHERS)
def test_where_heads_do_not_add_up_direct_parts_are_undefined(name):
    recorded = recorded_family(name)
    family = type(recorded.plain.module).__name__
    for kernel in (pvw, dla):
        with pytest.raises(UndefinedError) as error:
            kernel(recorded)
        assert str(error.value).startswith(f"logits of {family} are not decomposable into heads: ")


@by_family(ALL)
def test_rollout_rows_sum_to_one(name):
    """With learned sinks rows of the pattern sum to less, and so do these."""
    recorded = everywhere(recorded_family(name))
    total, by_head = rollout(recorded), head_rollout(recorded)
    if name == "gpt_oss":
        assert (total < 1).all()
        assert (by_head < 1).all()
    else:
        assert torch.allclose(total, torch.ones_like(total), atol=1e-5)
        assert torch.allclose(by_head, torch.ones_like(by_head), atol=1e-5)


def test_rollout_rows_sum_to_one_on_the_real_models(recorded_smollm2, recorded_minilm):
    for recorded in (recorded_smollm2, recorded_minilm):
        total = rollout(everywhere(recorded))
        assert torch.allclose(total, torch.ones_like(total), atol=1e-5)


def test_rollout_over_even_is_one_for_an_even_model():
    """A model whose queries are all 0 attends evenly."""
    module = small_model(BY_NAME["llama, grouped"])
    with torch.no_grad():
        for block in module.model.layers:
            block.self_attn.q_proj.weight.zero_()
    found = rollout_over_even(record(Plain(module.requires_grad_(False)), bare_batch()))
    assert torch.allclose(found, torch.ones_like(found), atol=1e-5)


def block_outputs(plain, batch, hook):
    """Each layer's output at the query when attention is run with a hook."""
    outputs = []
    handles = [
        block.register_forward_hook(lambda part, taken, given: outputs.append(first_tensor(given)))
        for block in plain.anatomy.layers
    ]
    with torch.inference_mode(), plain.hooked(hook):
        plain.states(batch.ids)
    for handle in handles:
        handle.remove()
    return [each[torch.arange(len(batch)), batch.query] for each in outputs]


@by_family(ALL)
def test_value_zeroing_is_a_forward_with_those_values_at_zero(name):
    recorded = recorded_family(name)
    plain, batch = recorded.plain, recorded.batch
    intact = block_outputs(plain, batch, lambda layer, name, tensor: tensor)
    whole, by_head = value_zeroing(recorded), head_value_zeroing(recorded)
    for at in range(3):

        def zero_values(layer, name, tensor, at=at):
            here = (layer, name) == (at, "value")
            return tensor * ~batch.source[:, None, :, None] if here else tensor

        edited = block_outputs(plain, batch, zero_values)[at]
        expected = 1 - torch.cosine_similarity(intact[at].double(), edited.double(), dim=-1)
        assert torch.allclose(whole[:, at, 0].double(), expected, atol=1e-6)
        for head in (0, 3):

            def zero_weights(layer, name, tensor, at=at, head=head):
                if (layer, name) != (at, "pattern"):
                    return tensor
                chosen = torch.arange(tensor.shape[1]) == head
                return tensor * ~(chosen[:, None, None] & batch.source[:, None, None, :])

            edited = block_outputs(plain, batch, zero_weights)[at]
            expected = 1 - torch.cosine_similarity(intact[at].double(), edited.double(), dim=-1)
            assert torch.allclose(by_head[:, at, head].double(), expected, atol=1e-6)


@by_family(["llama, grouped", "bert"])
def test_a_head_that_writes_nothing_turns_nothing(name):
    module = small_model(BY_NAME[name])
    with torch.no_grad():
        for parameter_name, parameter in module.named_parameters():
            if parameter_name.endswith(("o_proj.weight", "attention.output.dense.weight")):
                parameter[:, 8:16] = 0  # head 1 of every layer
    recorded = record(Plain(module.requires_grad_(False)), bare_batch())
    found = head_value_zeroing(recorded)
    assert (found[:, :, 1] == 0).all()
    assert (found[:, :, 0].mean(0) > 1e-4).all()
    assert (norm(recorded)[:, :, 1] == 0).all()


@by_family(ALL)
def test_the_gradient_is_what_a_small_change_of_attention_does(name):
    """Central differences; the step is coarse because families round to float32 on the way."""
    recorded = recorded_family(name)
    plain, batch = recorded.plain, recorded.batch
    rows = torch.arange(len(batch))
    if plain.anatomy.unembedding is None:
        with pytest.raises(UndefinedError) as error:
            attention_gradient(recorded)
        assert str(error.value) == (
            f"{type(plain.module).__name__} has no vocabulary head, so there is no logit "
            "difference to take a gradient of."
        )
        return
    found, step = recorded.pattern_gradients, 1e-3

    def difference(layer, head, key, size):
        def nudge(at, name, tensor):
            if (at, name) != (layer, "pattern"):
                return tensor
            tensor = tensor.clone()
            tensor[:, head, batch.query[0], key] += size
            return tensor

        with torch.inference_mode(), plain.hooked(nudge):
            logits = plain(batch.ids).logits[rows, batch.query]
        return logits[rows, batch.answer] - logits[rows, batch.foil]

    for layer, head, key in ((0, 1, 5), (1, 3, 2), (2, 0, 7)):
        up, down = (difference(layer, head, key, size) for size in (step, -step))
        expected = (up - down) / (2 * step)
        tolerance = 1e-2 * found[layer].abs().max().item()
        assert torch.allclose(found[layer][:, head, key], expected, atol=tolerance)


@by_family([name for name in ALL if name not in ("bert, headless", "t5, encoder")])
def test_the_gradient_at_scores_is_autograds(name):
    recorded = recorded_family(name)
    plain, batch, rows = recorded.plain, recorded.batch, torch.arange(4)
    nudges = []

    def nudge(layer, name, tensor):
        if name != "scores":
            return tensor
        nudges.append(torch.zeros_like(tensor).requires_grad_())
        return tensor + nudges[-1]

    with plain.hooked(nudge):
        logits = plain(batch.ids).logits[rows, batch.query]
    difference = logits[rows, batch.answer] - logits[rows, batch.foil]
    gradients = torch.autograd.grad(difference.sum(), nudges)
    expected = torch.stack(
        [(each[rows, :, batch.query] * batch.source[:, None]).sum(-1) for each in gradients], 1
    )
    assert torch.allclose(score_gradient(recorded), expected, atol=1e-4)


@pytest.mark.parametrize("name", ["backup", "decoys"])
def test_in_a_last_layer_without_a_norm_gradient_and_parts_are_the_same(name):
    """Nothing follows but the unembedding: the metric is linear in the weights of attention."""
    from interp.models import load
    from interp.planted import build

    model = load(f"planted/{name}")
    (batch,) = model.encode(build(name).items)
    recorded = record(model.plain, batch)
    found = attention_gradient(recorded)[:, -1]
    assert torch.allclose(found, pvw(recorded)[:, -1], atol=1e-5)
    assert found.abs().max() > 0.1


@by_family(["bert", "distilbert", "bert, headless"])
def test_behind_the_norm_parts_sum_to_what_the_norm_gives(name):
    """Σ_j g(y_j), with the shift and what the projection's bias makes, is the normed stream."""
    from interp.measures.mixing import _parts

    recorded = recorded_family(name)
    plain, batch, rows = recorded.plain, recorded.batch, torch.arange(4)
    for stream, parts in zip(streams(plain), _parts(recorded, with_norm=True), strict=True):
        given = []
        handle = stream.norm_after.register_forward_hook(
            lambda part, taken, output, given=given: given.append((taken[0], output))
        )
        with torch.inference_mode():
            plain.states(batch.ids)
        handle.remove()
        taken, expected = (each[rows, batch.query] for each in given[0])
        frozen = FrozenNorm(stream.norm_after, taken)
        with torch.inference_mode():
            shift = stream.norm_after(torch.zeros_like(taken)) + frozen(
                stream.bias.expand_as(taken)
            )
        assert torch.allclose(parts.sum(1) + shift, expected, atol=1e-4)


def test_mixing_of_the_encoder_is_less_behind_the_stream_than_attention_says(recorded_minilm):
    """Published for BERT: the stream keeps most of itself, and more so behind the norm."""
    plain, normed = mixing(recorded_minilm), mixing_norm(recorded_minilm)
    assert ((plain > 0) & (plain < 1)).all()
    assert plain.mean() < 0.6
    assert ((normed > 0) & (normed < 1)).all()


def test_what_stands_before_a_norm_of_the_heads_is_no_sum():
    with pytest.raises(UndefinedError) as error:
        mixing(recorded_family("olmo2"))
    assert str(error.value) == (
        "layer 0 norms what its heads write before adding it to the residual stream, so the two "
        "are no sum whose parts can be compared; use `norm` instead."
    )
    with pytest.raises(UndefinedError) as error:
        mixing_norm(recorded_family("gpt2"))
    assert str(error.value) == (
        "no norm follows the sum of heads and residual stream in layer 0, which adds them as they "
        "are; use the form without it."
    )


@by_family(ALL)
def test_one_stage_counts_what_is_undefined(name):
    recorded = recorded_family(name)
    found = scores(recorded)
    assert len(found.table) == len(MEASURES) * 4 * 3 * 4
    assert not found.table.duplicated(["measure", "layer", "head", "item_id"]).any()
    counts = found.counts.set_index("measure")
    assert (counts["n_values"] == 48).all()
    assert (counts.loc[counts["reason"] != "", "n_valid"] == 0).all()
    of_group = found.table.groupby("measure")["valid"].sum()
    assert (counts["n_valid"] == of_group.loc[counts.index]).all()


def test_each_measure_says_what_it_is():
    table = described()
    assert list(table["measure"]) == [measure.name for measure in MEASURES]
    assert table["measure"].is_unique
    assert (table[["unit", "formula", "source"]] != "").all(axis=None)
    assert set(table["league"]) == {"pattern only", "value-aware", "metric-aware"}


def test_nothing_is_left_behind():
    recorded = recorded_family("gpt2")
    before = [z.clone() for z in recorded.z]
    logits = recorded.plain(recorded.batch.ids).logits
    scores(recorded)
    assert torch.equal(recorded.plain(recorded.batch.ids).logits, logits)
    assert all(torch.equal(*pair) for pair in zip(before, recorded.z, strict=True))
    modules = recorded.plain.module.modules()
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in modules)
