"""An intact run, kept: what each layer was called with, and which of its axes are which."""

import pytest
import torch

from interp.models.axes import Axes, probe_axes, select
from interp.models.record import record


@pytest.fixture(scope="module")
def batch(tiny, items):
    (batch,) = tiny.encode(items)
    return batch


def test_axes_are_those_of_the_llama_block(tiny):
    """Residual and mask have items first; rotary angles are shared by all items."""
    for layer in probe_axes(tiny.plain):
        found = {(axes.item, axes.row) for axes in layer}
        assert found <= {(0, 1), (0, 2), (None, 1), (None, None)}
        assert layer[0] == Axes(item=0, row=1), "the residual stream"
        assert Axes(item=0, row=2) in layer, "the mask: items, heads, rows, keys"
        assert layer.count(Axes(item=None, row=1)) >= 2, "cosines and sines"


def test_select_repeats_items_and_cuts_rows():
    leaf = torch.arange(24).view(2, 4, 3)
    chosen = select(leaf, Axes(item=0, row=1), items=torch.tensor([1, 1, 0]), rows=slice(2, None))
    assert torch.equal(chosen, torch.stack([leaf[1, 2:], leaf[1, 2:], leaf[0, 2:]]))
    assert (
        select("text", Axes(item=None, row=None), items=torch.tensor([0]), rows=slice(1)) == "text"
    )


def test_the_record_is_what_the_bridge_caches(tiny, batch):
    kept = record(tiny.plain, batch)
    with torch.inference_mode():
        logits, cache = tiny.bridge.run_with_cache(batch.ids)
    for layer in range(tiny.n_layers):
        here = f"blocks.{layer}"
        z = cache[f"{here}.attn.hook_z"].transpose(1, 2)
        assert torch.allclose(kept.z[layer], z, atol=1e-5)
        value = cache[f"{here}.attn.hook_v"]
        assert torch.allclose(kept.value[layer], value.transpose(1, 2), atol=1e-5)
        pattern = cache[f"{here}.attn.hook_pattern"][:, :, -1]
        assert torch.allclose(kept.pattern[layer], pattern, atol=1e-5)
        residual = cache[f"{here}.hook_in"]
        assert torch.allclose(kept.arguments[layer].leaves[0], residual, atol=1e-4)
    assert torch.allclose(kept.logits, logits[:, -1], atol=1e-4)


def test_recording_leaves_no_hooks(tiny, batch):
    record(tiny.plain, batch)
    for module in tiny.plain.module.modules():
        assert not module._forward_hooks
        assert not module._forward_pre_hooks
