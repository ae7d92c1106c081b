"""One layer by itself at one row, on the input that it had, with other outputs of its heads."""

from functools import partial

import torch
from einops import rearrange
from jaxtyping import Float
from torch import Tensor

from interp.models.plain import Call
from interp.models.record import Record
from interp.models.template import HIDDEN, first_tensor


def outputs_at_query(
    record: Record, layer: int, z: Float[Tensor, "item variant head d_head"]
) -> Float[Tensor, "item variant d_model"]:
    """What a layer of the recorded run gives at the query, for several z of its heads there.

    With attention given, a layer works on each row by itself, so that variants stand in the places
    of the text, the query's input in each of them.
    """
    arguments, plain = record.arguments[layer], record.plain
    hidden = arguments.leaves[HIDDEN]
    n_items, length = hidden.shape[:2]
    at_query = hidden[torch.arange(n_items), record.batch.query]
    leaves = list(arguments.leaves)
    leaves[HIDDEN] = at_query[:, None].expand(-1, length, -1).contiguous()
    args, kwargs = arguments.rebuilt(leaves)
    parts = []
    with torch.inference_mode():
        for some in torch.split(z, length, dim=1):
            n_variants = some.shape[1]
            filled = torch.cat([some, some[:, -1:].expand(-1, length - n_variants, -1, -1)], dim=1)
            given = rearrange(filled, "item place head d_head -> item head place d_head")
            with plain.attending(partial(_instead, given)):
                after = first_tensor(plain.anatomy.layers[layer](*args, **kwargs))
            parts.append(after[:, :n_variants])
    return torch.cat(parts, dim=1)


def _instead(given: Tensor, call: Call) -> Tensor:
    return given
