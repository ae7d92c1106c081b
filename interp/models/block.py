"""One layer by itself, on the input that it had, with other outputs of its heads."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from interp.models.axes import select
from interp.models.plain import Call
from interp.models.record import Record, first_tensor


def block_output(
    record: Record,
    layer: int,
    z: Float[Tensor, "variant head row d_head"],
    *,
    items: Int[Tensor, " variant"],
    start: int,
) -> Float[Tensor, "variant row d_model"]:
    """What a layer gives for its rows from `start` on when its heads give `z` there instead.

    Args:
        items: which recorded item each variant is made from.
    """

    def given(call: Call) -> Tensor:
        return z

    arguments, rows = record.arguments[layer], slice(start, None)
    leaves = [
        select(leaf, axes, items=items, rows=rows)
        for leaf, axes in zip(arguments.leaves, record.axes[layer], strict=True)
    ]
    args, kwargs = arguments.rebuilt(leaves)
    with torch.inference_mode(), record.plain.attending(given):
        return first_tensor(record.plain.anatomy.layers[layer](*args, **kwargs))
