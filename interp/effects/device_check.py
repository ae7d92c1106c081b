"""Whether the device that a model is on computes what the CPU does."""

import copy

import torch

from interp.encode import Batch
from interp.models.bridge import logits_of
from interp.models.model import Model

TOLERANCE = 1e-4
"""Of the largest logit in fp32: room for sums in another order, and none for TF32 or a fault."""


def check_against_cpu(model: Model, batch: Batch) -> float:
    """How far the batch's first prompt's logits are from those of a copy of the model on the CPU.

    The copy runs the model's own attention (`eager`); the model itself stays where it is. On a
    model that is on the CPU already, this compares our attention with its own.

    Returns:
        The largest difference over all positions, in logits.

    Raises:
        ArithmeticError: it is more than 1e-4 of the largest logit.
    """
    module = model.plain.module
    on_cpu = copy.deepcopy(module).to("cpu")
    on_cpu.set_attn_implementation("eager")
    ids = batch.ids[:1]
    with torch.inference_mode():
        found = logits_of(model.plain(ids.to(module.device))).cpu()
        expected = logits_of(on_cpu(input_ids=ids.cpu(), use_cache=False))
    difference, largest = (found - expected).abs().max().item(), expected.abs().max().item()
    if not difference <= TOLERANCE * largest:
        raise ArithmeticError(
            f"on {module.device} the model's logits differ from those on the CPU by "
            f"{difference:.2g} (largest logit {largest:.3g}, allowed {TOLERANCE:g} of it) on item "
            f"{batch.items[0].item_id}; nothing that this device computes can be trusted, so run "
            "on the CPU."
        )
    return difference
