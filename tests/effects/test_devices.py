"""The model on one device, everything else on another: it is moved, and the model stays."""

import pytest
import torch

from interp.effects import (
    KL_DIVERGENCE,
    Renormalised,
    Resample,
    Scope,
    Zero,
    mean_by_position,
    mean_over,
    sweep,
)
from interp.effects.check import ablated_logits
from interp.effects.joint import joint
from interp.effects.plain_loop import Looped, replace_heads
from interp.effects.repair import self_repair
from interp.effects.screening import screened
from interp.models.shapes import Shape, random_llama, word_an_id
from tests.effects.whole_forwards import small_batch
from tests.elsewhere import ELSEWHERE, Elsewhere

SHAPE = Shape(n_layers=3, n_heads=4, n_kv_heads=2, width=32, mlp=48, n_vocabulary=64)
CASES = [
    (Scope.EVERYWHERE, Resample()),
    (Scope.QUERY, Zero()),
    (Scope.EDGE, Resample()),
    (Scope.EDGE, Renormalised()),
]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    tokenizer = word_an_id(SHAPE.n_vocabulary, str(tmp_path_factory.mktemp("words")))
    return random_llama(SHAPE, seed=0, tokenizer=tokenizer)


def held(model):
    """The tensors of the model and of its bridge, which has an unembedding bias of its own."""
    modules = (model.plain.module, model.bridge.original_model)
    return [each for module in modules for each in (*module.parameters(), *module.buffers())]


def test_the_believed_device_refuses_a_mix():
    there, here = torch.ones(3), torch.ones(3)
    with Elsewhere([there]):
        assert there.device == ELSEWHERE
        assert (there + 1).device == ELSEWHERE
        assert there.cpu().device == here.device == torch.device("cpu")
        with pytest.raises(RuntimeError, match=r"^add was given tensors on two devices\.$"):
            there + here
        assert (there + here.to(there.device)).device == ELSEWHERE


@pytest.mark.parametrize(("scope", "baseline"), CASES, ids=lambda value: str(value).split("(")[0])
def test_a_sweep_of_a_model_that_is_elsewhere(model, scope, baseline):
    batch = small_batch()
    expected = sweep(model, [batch], scopes=[scope], baseline=baseline)
    with Elsewhere(held(model)) as there:
        found = sweep(model, [batch], scopes=[scope], baseline=baseline)
        assert all(tensor.device == ELSEWHERE for tensor in held(model))
    assert there.n_computed > 100
    assert found.equals(expected)


FURTHER = {
    "mean": lambda model, batch: _by_a_mean(model, batch, mean_over),
    "mean by position": lambda model, batch: _by_a_mean(model, batch, mean_by_position),
    "whole vocabulary": lambda model, batch: sweep(
        model, [batch], scopes=[Scope.QUERY], metric=KL_DIVERGENCE
    ),
    "two at once": lambda model, batch: joint(
        model, [batch], {"two": [model.head("L0H1"), model.head("L2H0")]}, scope=Scope.QUERY
    ),
    "screened": lambda model, batch: screened(model, [batch], screen=0.5, k=3).effects,
    "screened on the edge": lambda model, batch: (
        screened(model, [batch], screen=0.5, k=3, scope=Scope.EDGE).effects
    ),
    "self-repair": lambda model, batch: self_repair(model, [batch]),
}


def _by_a_mean(model, batch, mean):
    reference, tested = (batch.reordered(torch.arange(4) + first) for first in (4, 0))
    baseline = mean(model, [reference], name="others")
    return sweep(model, [tested], scopes=[Scope.QUERY], baseline=baseline)


@pytest.mark.parametrize("what", FURTHER)
def test_further_measurements_of_a_model_that_is_elsewhere(model, what):
    expected = FURTHER[what](model, small_batch())
    with Elsewhere(held(model)) as there:
        found = FURTHER[what](model, small_batch())
    assert there.n_computed > 100
    assert found.equals(expected)


@pytest.mark.parametrize(("scope", "baseline"), CASES, ids=lambda value: str(value).split("(")[0])
def test_the_plain_loop_of_a_model_that_is_elsewhere(model, scope, baseline):
    batch, head = small_batch(), model.head("L1H2")
    expected = Looped(model, batch, scope, baseline, [1]).logits([head])
    with Elsewhere(held(model)) as there:
        found = Looped(model, batch, scope, baseline, [1]).logits([head])
        ours = ablated_logits(model, batch, [head], scope, baseline)[0]
        assert found.device == ours.device == torch.device("cpu")
    assert there.n_computed > 100
    assert torch.equal(found, expected)
    torch.testing.assert_close(ours, expected, atol=1e-5 * expected.abs().max().item(), rtol=0)


def test_a_cache_on_another_device_is_moved_to_z():
    z, cached = torch.zeros(1, 2, 3, 4), torch.ones(1, 2, 3, 4)
    where = torch.zeros(1, 2, 3, dtype=torch.bool)
    where[0, 1, 2] = True
    with Elsewhere([z]):
        edited = replace_heads(z, None, replacement=cached, where=where)
        assert edited.device == z.device == ELSEWHERE
        assert cached.device == torch.device("cpu")
    assert edited.sum() == 4
    assert edited[0, 1, 2].tolist() == [1.0] * 4


def test_on_a_machine_with_a_gpu_the_bridge_is_where_the_model_is(monkeypatch, tmp_path):
    """TransformerLens's own guess is the machine's GPU, to which it then moves the tokens."""
    from transformer_lens.model_bridge.sources.transformers import source

    monkeypatch.setattr(source, "get_device", lambda: "cuda")
    tokenizer = word_an_id(SHAPE.n_vocabulary, str(tmp_path))
    bridge = random_llama(SHAPE, seed=0, tokenizer=tokenizer).bridge
    assert str(bridge.cfg.device) == "cpu"
    assert bridge.to_tokens("w5 w6").device == torch.device("cpu")
