"""Weights that lie elsewhere: the same effects, and each layer read once a wave."""

import pytest
import torch

from interp.effects import Scope, sweep
from interp.effects.check import check_against_loop
from interp.models import load
from interp.models.loading import require_device
from interp.models.offload import is_offloaded

ON_DISK = {
    "model.embed_tokens": "cpu",
    "model.rotary_emb": "cpu",
    "model.norm": "cpu",
    "lm_head": "cpu",
    "model.layers.0": "cpu",
    "model.layers.1": "disk",
    "model.layers.2": "disk",
    "model.layers.3": "disk",
}


@pytest.fixture(scope="module")
def offloaded(tiny_folder, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("INTERP_CACHE", str(tmp_path_factory.mktemp("cache")))
        return load(str(tiny_folder), device=ON_DISK)


def test_a_model_on_disk_has_the_same_effects(tiny, offloaded, items):
    assert is_offloaded(offloaded.plain.module)
    assert offloaded.device == "cpu, disk"
    scopes = [Scope.EVERYWHERE, Scope.QUERY]
    here = sweep(tiny, tiny.encode(items), scopes=scopes)
    there = sweep(offloaded, offloaded.encode(items), scopes=scopes)
    largest = here["intact"].abs().max()
    assert (here["edited"] - there["edited"]).abs().max() <= 1e-5 * largest


def test_each_layers_weights_are_read_once_a_wave(offloaded, items, monkeypatch):
    """However many batches of variants go through the layer."""
    batch = offloaded.encode(items)[0]
    layer = offloaded.plain.anatomy.layers[2]
    hook = layer.mlp.up_proj._hf_hook
    kept, read, calls = hook.weights_map, [], []

    class Counted(dict):
        def __getitem__(self, name):
            read.append(name)
            return kept[name]

    def once(rows_a_batch):
        monkeypatch.setattr("interp.effects.pieces.ROWS_A_BATCH", rows_a_batch)
        offloaded.plain.residence.release()  # what an earlier sweep ended with
        read.clear()
        calls.clear()
        sweep(offloaded, [batch], scopes=[Scope.QUERY])
        return len(read), len(calls)

    sweep(offloaded, [batch], scopes=[Scope.QUERY])  # what is probed once is probed here
    monkeypatch.setattr(hook, "weights_map", Counted())
    handle = layer.register_forward_pre_hook(lambda *_: calls.append(1))
    (n_read, few), (n_read_again, many) = once(2048), once(8)
    handle.remove()
    assert many > few + 4
    assert n_read == n_read_again == 2  # the wave, and a forward before it that tries the metric


def test_a_half_precision_model_runs(tiny, tiny_folder, items):
    half = load(str(tiny_folder), dtype="bfloat16")
    assert half.dtype == "bfloat16"
    batches = half.encode(items)
    found = sweep(half, batches, scopes=[Scope.QUERY])
    exact = sweep(tiny, batches, scopes=[Scope.QUERY])
    largest = exact["intact"].abs().max()
    assert (found["intact"] - exact["intact"]).abs().max() < 0.1 * largest


def test_an_unknown_device_or_dtype_is_refused_by_what_there_is():
    with pytest.raises(ValueError, match=r"unknown dtype 'int8'; there are float32, bfloat16"):
        require_device("cpu", "int8")
    if not torch.cuda.is_available():
        with pytest.raises(ValueError, match=r"no device 'cuda' here; there are cpu, auto"):
            require_device("cuda", "float32")


def test_the_engine_equals_the_plain_loop_on_a_model_on_disk(offloaded, items):
    """TransformerLens's bridge runs there too, so that the check of every run is made."""
    check = check_against_loop(offloaded, offloaded.encode(items)[0], scopes=[Scope.EVERYWHERE])
    assert 0 < check.largest_difference <= 1e-5 * check.largest_logit
