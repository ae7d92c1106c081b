"""A copy in which one head writes something else, and the model it was made from."""

import pytest
import torch
from transformers import GPT2Config

from interp.effects import Resample, sweep
from interp.effects.plain_loop import Looped
from interp.effects.scopes import TIERS
from interp.grafts import rewritten, silence, silenced, written
from interp.heads import Head
from interp.models import load
from interp.models.record import record
from tests.conftest import save_tiny

HEAD = Head(2, 3)


@pytest.fixture(scope="module")
def batch(tiny, items):
    return tiny.encode(items)[0]


def projection(model, layer):
    return model.plain.module.model.layers[layer].self_attn.o_proj.weight


def test_what_a_head_writes_is_its_columns(tiny):
    assert torch.equal(written(tiny, HEAD), projection(tiny, 2)[:, 24:32].T)


def test_only_that_slice_changes_and_the_rest_is_shared(tiny):
    before = projection(tiny, 2).clone()
    output = torch.arange(8 * 32.0).reshape(8, 32)
    planted = rewritten(tiny, HEAD, output)
    assert torch.equal(projection(planted, 2)[:, 24:], output.T)
    assert torch.equal(projection(planted, 2)[:, :24], before[:, :24])
    assert torch.equal(projection(tiny, 2), before)
    own = dict(tiny.plain.module.named_parameters())
    apart = [
        name
        for name, parameter in planted.plain.module.named_parameters()
        if parameter.data_ptr() != own[name].data_ptr()
    ]
    assert apart == ["model.layers.2.self_attn.o_proj.weight"]
    assert planted.weights_hash != tiny.weights_hash
    assert rewritten(tiny, HEAD, written(tiny, HEAD)).weights_hash != planted.weights_hash


def test_a_silenced_head_attends_as_before_and_does_exactly_nothing(tiny, batch):
    planted = silenced(tiny, HEAD)
    before, after = record(tiny.plain, batch), record(planted.plain, batch)
    for layer in range(3):
        assert torch.equal(before.pattern[layer], after.pattern[layer])
        assert torch.equal(before.z[layer], after.z[layer])
    assert not torch.allclose(before.logits, after.logits)

    def effects(model):
        table = sweep(model, [batch], scopes=TIERS, heads=[HEAD])
        return (table["intact"] - table["edited"]).abs().groupby(table["scope"]).max()

    assert (effects(tiny) > 1e-3).all()
    assert (effects(planted) < 1e-6).all()
    assert len(effects(planted)) == 3
    for scope in TIERS:
        loop = Looped(planted, batch, scope, Resample(), [HEAD.layer])
        assert torch.equal(loop.logits([HEAD]), loop.logits([]))


def test_silenced_is_the_head_with_its_output_zeroed_on_the_way(tiny, batch):
    def edit(layer, name, tensor):
        if (layer, name) != (HEAD.layer, "z"):
            return tensor
        return tensor * (torch.arange(tensor.shape[1]) != HEAD.head)[:, None, None]

    with torch.inference_mode():
        with tiny.plain.hooked(edit):
            expected = tiny.plain(batch.ids).logits
        found = silenced(tiny, HEAD).plain(batch.ids).logits
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


def test_the_copy_has_a_bridge_of_its_own(tiny, batch):
    planted = silenced(tiny, HEAD)
    with torch.inference_mode():
        torch.testing.assert_close(
            planted.bridge(batch.ids), planted.plain(batch.ids).logits, atol=1e-4, rtol=1e-4
        )


def test_silenced_heads_are_found_as_such_with_what_they_were_before(plant):
    """Two heads find the antecedent and say it, one half as loud; one at a time falls silent."""
    model, batch = plant("grouped")
    table = silence(model, [batch], [Head(0, 0), Head(0, 1)], seed=0)
    assert table["agrees"].all(), table.to_string()


def test_a_projection_that_is_no_linear_layer_is_refused(tmp_path, tokenizer):
    config = GPT2Config(n_embd=32, n_layer=2, n_head=4, n_positions=64)
    model = load(str(save_tiny(config, tmp_path / "gpt2", tokenizer)))
    with pytest.raises(ValueError) as error:
        silenced(model, Head(1, 0))
    assert str(error.value) == (
        "what takes the heads' z in layer 1 is a Conv1D, expected a Linear; graft into a family "
        "such as llama."
    )
