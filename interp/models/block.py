"""One layer by itself, on the input that it had, with other outputs of its heads."""

import torch
from jaxtyping import Float
from torch import Tensor

from interp.models.record import Record
from interp.models.template import first_tensor


def block_output(
    record: Record, layer: int, z: Float[Tensor, "item head pos d_head"]
) -> Float[Tensor, "item pos d_model"]:
    """What a layer of the recorded run gives when its heads give `z` instead."""
    arguments, plain = record.arguments[layer], record.plain
    args, kwargs = arguments.rebuilt(list(arguments.leaves))
    with torch.inference_mode(), plain.attending(lambda call: z):
        return first_tensor(plain.anatomy.layers[layer](*args, **kwargs))
