"""One prompt on the model's device against the CPU, and a device that computes something else."""

from dataclasses import replace

import pytest
import torch

from interp.effects.device_check import check_against_cpu
from interp.models.plain import attend


@pytest.fixture(scope="module")
def batch(tiny, items):
    return tiny.encode(items)[0]


def test_a_sound_device_passes_and_the_model_stays(tiny, batch):
    module = tiny.plain.module
    before = {name: (p.device, p.data_ptr(), p.clone()) for name, p in module.named_parameters()}
    own = module.config._attn_implementation
    assert check_against_cpu(tiny, batch) <= 1e-5 * tiny.plain(batch.ids[:1]).logits.abs().max()
    assert module.config._attn_implementation == own
    for name, parameter in module.named_parameters():
        device, place, value = before[name]
        assert (parameter.device, parameter.data_ptr()) == (device, place)
        assert torch.equal(parameter, value)


def test_a_wrong_sign_is_caught(tiny, batch):
    """As on a backend that gives scores of the other sign, in one layer of four."""

    def other_sign(call):
        return attend(replace(call, query=-call.query) if call.layer == 2 else call)

    with tiny.plain.attending(other_sign), torch.inference_mode():
        wrong = tiny.plain(batch.ids[:1]).logits
        with pytest.raises(ArithmeticError) as error:
            check_against_cpu(tiny, batch)
    right = tiny.plain(batch.ids[:1]).logits
    apart, largest = (wrong - right).abs().max().item(), right.abs().max().item()
    assert str(error.value) == (
        f"on cpu the model's logits differ from those on the CPU by {apart:.2g} (largest logit "
        f"{largest:.3g}, allowed 0.0001 of it) on item {batch.items[0].item_id}; nothing that "
        "this device computes can be trusted, so run on the CPU."
    )
