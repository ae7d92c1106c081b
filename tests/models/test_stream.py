"""Where heads stand in the stream: their outputs sum to what the projection gives."""

import pytest
import torch
from torch import nn

from interp.models import load
from interp.models.families import small_ids
from interp.models.frozen_norm import FrozenNorm
from interp.models.plain import attend
from interp.models.stream import _stream, streams
from interp.models.template import first_tensor
from interp.models.undefined import UndefinedError
from tests.models.conftest import RUNNING, each, plain_of


def heads_and_projections(plain, ids):
    """Σ heads + b_O by layer, and all that the linear maps of each layer give."""
    z = []

    def keep(call):
        z.append(attend(call))
        return z[-1]

    given = [[] for _ in plain.anatomy.layers]

    def watch(into):
        return lambda part, taken, output: into.append(first_tensor(output))

    handles = [
        part.register_forward_hook(watch(given[layer]))
        for layer, block in enumerate(plain.anatomy.layers)
        for part in block.modules()
        if getattr(part, "weight", None) is not None and part.weight.ndim == 2
    ]
    with torch.inference_mode(), plain.attending(keep):
        plain(ids)
    for handle in handles:
        handle.remove()
    found = streams(plain)
    sums = [
        torch.einsum("ihpd,hdm->ipm", *pair) + stream.bias
        for *pair, stream in zip(z, [stream.output for stream in found], found, strict=True)
    ]
    return sums, given


@each(RUNNING)
def test_heads_and_bias_sum_to_what_the_projection_gives(name):
    plain = plain_of(name)
    for total, given in zip(*heads_and_projections(plain, small_ids(2)), strict=True):
        same_shape = [each for each in given if each.shape == total.shape]
        gaps = [(each - total).abs().max().item() for each in same_shape]
        assert min(gaps) <= 1e-5 * max(1.0, total.abs().max().item())


@pytest.mark.parametrize("name", ["smollm2-135m", "minilm-l6"])
def test_on_the_real_models(name):
    model = load(name)
    ids = torch.tensor([model.tokens("The farmer beside the senators").ids])
    states = model.plain.module.base_model(input_ids=ids)[0]
    for total, given in zip(*heads_and_projections(model.plain, ids), strict=True):
        gaps = [(each - total).abs().max().item() for each in given if each.shape == total.shape]
        assert min(gaps) <= 1e-5 * max(1.0, total.abs().max().item())
    assert torch.equal(model.plain.module.base_model(input_ids=ids)[0], states)


POST_NORM = {"bert", "roberta", "distilbert", "electra", "albert", "bert, headless"}
NORMED_HEADS = {"olmo2", "gemma2, soft-cap", "gemma2, windows", "gemma3_text"}


@each(RUNNING)
def test_what_kind_of_stream_a_family_has(name):
    """From the papers: who adds, who norms the stream, and who norms the heads."""
    for stream in streams(plain_of(name)):
        assert (stream.norm_after is not None) == (name in POST_NORM)
        assert stream.adds_up == (name not in POST_NORM | NORMED_HEADS)


def test_nothing_is_left_on_the_model():
    plain = plain_of("gpt2")
    before = plain(small_ids(2)).logits
    streams(plain)
    assert torch.equal(plain(small_ids(2)).logits, before)
    assert not any(part._forward_hooks for part in plain.module.modules())


def test_a_layer_without_a_projection_says_so():
    with pytest.raises(UndefinedError) as error:
        _stream(plain_of("gpt2"), 0, torch.ones(1, 4, 4, 8), {})
    assert str(error.value) == (
        "no module of layer 0 of GPT2LMHeadModel takes its heads' z as it is, so what each head "
        "writes is not known; use exact effects (`interp.sweep`) instead."
    )


def test_a_head_with_an_activation_is_no_norm():
    bent = nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.LayerNorm(8))
    with torch.no_grad(), pytest.raises(UndefinedError) as error:
        FrozenNorm(bent, torch.randn(2, 8, generator=torch.Generator().manual_seed(0)))
    assert str(error.value) == (
        "Sequential is no norm with a gain, so what stands behind it is no sum over what stands "
        "before it."
    )
