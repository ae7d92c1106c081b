"""An intact run, kept: what each layer was called with, and which of its axes are which."""

import pytest
import torch

from interp.models.axes import Axes, at_rows
from interp.models.plain import attend
from interp.models.record import record
from interp.models.template import template


@pytest.fixture(scope="module")
def batch(tiny, items):
    (batch,) = tiny.encode(items)
    return batch


def test_axes_are_those_of_the_llama_block(tiny):
    """Residual and mask have items first; rotary angles are shared; a mask is left whole."""
    for layer in template(tiny.plain, 6).axes:
        found = {(axes.item, axes.row) for axes in layer}
        assert found <= {(0, 1), (0, None), (None, 1), (None, None)}
        assert layer[0] == Axes(item=0, row=1), "the residual stream"
        assert Axes(item=0, row=None) in layer, "the mask: items, heads, rows, keys"
        assert layer.count(Axes(item=None, row=1)) >= 2, "cosines and sines"


def test_arguments_at_rows_of_several_items():
    leaf = torch.arange(8).view(1, 4, 2)
    rows = torch.tensor([3, 1, 1])
    chosen = at_rows(leaf, Axes(item=0, row=1), rows=rows, n_lanes=2)
    assert torch.equal(chosen, torch.stack([leaf[0, rows], leaf[0, rows]]))
    beside = at_rows(
        torch.arange(3)[:, None], Axes(item=0, row=None, block=3), rows=None, n_lanes=2
    )
    assert beside[:, 0].tolist() == [0, 1, 2, 0, 1, 2], "heads beside items"
    assert at_rows("text", Axes(item=None, row=None), rows=rows, n_lanes=2) == "text"


def test_a_template_asks_as_the_whole_run_does(tiny):
    """Masks and scales come without the work of the layers: they are those of a real run."""
    asked = []

    def keep(call):
        asked.append(call.options)
        return attend(call)

    with torch.inference_mode(), tiny.plain.attending(keep):
        tiny.plain.states(torch.full((1, 6), 3))
    for found, expected in zip(template(tiny.plain, 6).options, asked, strict=True):
        assert found["scale"] == expected["scale"]
        assert torch.equal(found["mask"], expected["mask"])


def test_the_record_is_what_the_bridge_caches(tiny, batch):
    kept = record(tiny.plain, batch, keep=("z", "value", "pattern"))
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
    assert torch.allclose(kept.logits, logits[:, -1], atol=1e-4)


def test_only_what_is_asked_for_is_kept(tiny, batch):
    kept = record(tiny.plain, batch, keep=("pattern",))
    assert len(kept.pattern) == tiny.n_layers
    assert kept.z == kept.value == kept.arguments == []
    assert kept.logits.shape == (len(batch), tiny.config.vocab_size)


def test_recording_leaves_no_hooks(tiny, batch):
    record(tiny.plain, batch)
    for module in tiny.plain.module.modules():
        assert not module._forward_hooks
        assert not module._forward_pre_hooks
