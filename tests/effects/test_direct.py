"""Direct attribution: parts that sum to the logit difference, or a refusal."""

import pytest
import torch
from transformers import Gemma2Config, GPT2Config

from interp.effects.direct import direct_logit_attribution
from interp.models import load
from interp.models.record import record
from tests.conftest import save_tiny


def difference(model, batch):
    logits = record(model.plain, batch).logits
    rows = torch.arange(len(batch))
    return logits[rows, batch.answer] - logits[rows, batch.foil]


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory, tokenizer):
    """Layer norm with shift, projections with bias, weights the other way round."""
    config = GPT2Config(n_embd=32, n_layer=3, n_head=4, n_positions=32)
    return load(str(save_tiny(config, tmp_path_factory.mktemp("direct") / "gpt2", tokenizer)))


@pytest.mark.parametrize("name", ["tiny", "gpt2"])
def test_parts_sum_to_the_logit_difference(name, items, request):
    model = request.getfixturevalue(name)
    (batch,) = model.encode(items)
    found = direct_logit_attribution(model, batch)
    total = found.heads.sum((1, 2)) + found.rest
    assert torch.allclose(total, difference(model, batch), atol=1e-4)
    assert found.heads.shape == (len(batch), model.n_layers, model.n_heads)


def test_a_llama_head_by_its_weights(tiny, items):
    """z through the head's own rows of W_O, the norm's gain over its scale, and the unembedding."""
    (batch,) = tiny.encode(items)
    module, kept = tiny.plain.module, record(tiny.plain, batch, keep=("z",))
    before_norm = []
    handle = module.model.norm.register_forward_pre_hook(
        lambda _, args: before_norm.append(args[0])
    )
    with torch.inference_mode():
        module(input_ids=batch.ids)
    handle.remove()
    states = before_norm[0][:, -1]
    scale = (states.pow(2).mean(-1, keepdim=True) + module.config.rms_norm_eps).sqrt()
    unembed = module.lm_head.weight[batch.answer] - module.lm_head.weight[batch.foil]
    found = direct_logit_attribution(tiny, batch).heads
    for layer, head in tiny.heads:
        W_O = module.model.layers[layer].self_attn.o_proj.weight[:, head * 8 : head * 8 + 8]  # noqa: N806  as it is called
        written = kept.z[layer][:, head, -1] @ W_O.T
        expected = (module.model.norm.weight * written / scale * unembed).sum(-1)
        assert torch.allclose(found[:, layer, head], expected, atol=1e-4)


def test_a_gpt2_head_alone_is_what_its_rows_write(gpt2, items):
    """The final layer norm at its intact scale is linear: centre, divide, multiply."""
    (batch,) = gpt2.encode(items)
    module, kept = gpt2.plain.module, record(gpt2.plain, batch, keep=("z",))
    before_norm = []
    handle = module.transformer.ln_f.register_forward_pre_hook(
        lambda _, args: before_norm.append(args[0])
    )
    with torch.inference_mode():
        module(input_ids=batch.ids)
    handle.remove()
    states = before_norm[0][:, -1]
    sigma = (states.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()
    unembed = module.lm_head.weight[batch.answer] - module.lm_head.weight[batch.foil]
    rows = module.transformer.h[2].attn.c_proj.weight[8:16]
    written = kept.z[2][:, 1, -1] @ rows
    centred = written - written.mean(-1, keepdim=True)
    expected = (module.transformer.ln_f.weight * centred / sigma * unembed).sum(-1)
    found = direct_logit_attribution(gpt2, batch).heads[:, 2, 1]
    assert torch.allclose(found, expected, atol=1e-4)


def test_where_heads_do_not_add_up_it_refuses(tmp_path, tokenizer, items):
    """Gemma-2 norms what its heads write and caps its logits: no sum, and no number."""
    config = Gemma2Config(
        hidden_size=32, intermediate_size=48, num_hidden_layers=3, num_attention_heads=4,
        num_key_value_heads=2, head_dim=8,
    )  # fmt: skip
    gemma = load(str(save_tiny(config, tmp_path / "gemma2", tokenizer)))
    (batch,) = gemma.encode(items)
    with pytest.raises(ValueError, match="are not decomposable into heads: its logits are capped"):
        direct_logit_attribution(gemma, batch)


def test_a_post_norm_refuses_by_its_layer(tmp_path, tokenizer, items):
    from transformers import Olmo2Config

    config = Olmo2Config(
        hidden_size=32, intermediate_size=48, num_hidden_layers=3, num_attention_heads=4,
        num_key_value_heads=4,
    )  # fmt: skip
    olmo = load(str(save_tiny(config, tmp_path / "olmo2", tokenizer)))
    (batch,) = olmo.encode(items)
    with pytest.raises(ValueError, match="layer 0 does not add its heads' outputs"):
        direct_logit_attribution(olmo, batch)


@pytest.mark.parametrize("width", [32, 33])
def test_coordinates_that_are_zero_have_a_gain_too(width):
    """A norm's gain is its weight over its scale, whatever the states hold, even at zeros."""
    from interp.effects.direct import FrozenNorm

    generator = torch.Generator().manual_seed(0)
    states, written = torch.zeros(2, width), torch.randn(2, 3, width, generator=generator)
    states[:, :4] = torch.randn(2, 4, generator=generator)
    for norm in (torch.nn.LayerNorm(width), torch.nn.RMSNorm(width, eps=1e-5)):
        weight = torch.rand(width, generator=generator) + 0.5
        norm.weight.data.copy_(weight)
        centres = isinstance(norm, torch.nn.LayerNorm)
        middle = states.mean(-1, keepdim=True) * centres
        scale = ((states - middle).square().mean(-1, keepdim=True) + 1e-5).sqrt()
        centred = written - written.mean(-1, keepdim=True) * centres
        with torch.no_grad():
            given = FrozenNorm(norm, states)(written)
        assert torch.allclose(given, centred * weight / scale[:, None], atol=1e-4)
