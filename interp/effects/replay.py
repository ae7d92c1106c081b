"""Resume: run the layers from an edited one upwards, on the rows that the edit can reach.

In a causal model an edit at position t changes nothing before t. Those rows answer with the keys
and values of the intact run; the rows from t on are computed again, from the edited layer up.
"""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from interp.models.axes import select
from interp.models.plain import Call, Plain, attend
from interp.models.record import Record, first_tensor


def replay(
    plain: Plain,
    record: Record,
    *,
    layer: int,
    z: Float[Tensor, "variant head row d_head"],
    items: Int[Tensor, " variant"],
    start: int,
) -> Float[Tensor, "variant row d_model"]:
    """The last block's output for variants of recorded items with another `z` in one layer.

    Args:
        z: what the heads of `layer` give instead, for the rows from `start` on.
        items: which recorded item each variant is made from.
        start: the first row that is computed again; 0 in a bidirectional model.
    """
    rows = slice(start, None)

    def resumed(call: Call) -> Tensor:
        if call.layer == layer:
            return z
        key = torch.cat([record.key[call.layer][items, :, :start], call.key], dim=2)
        value = torch.cat([record.value[call.layer][items, :, :start], call.value], dim=2)
        options = _select(record.options[call.layer], items, start)
        return attend(Call(call.layer, call.query, key, value, options))

    hidden: Tensor | None = None
    with torch.inference_mode(), plain.attending(resumed):
        for index in range(layer, len(record.arguments)):
            arguments = record.arguments[index]
            leaves = [
                select(leaf, axes, items=items, rows=rows)
                for leaf, axes in zip(arguments.leaves, record.axes[index], strict=True)
            ]
            if hidden is not None:
                leaves[_HIDDEN] = hidden
            args, kwargs = arguments.rebuilt(leaves)
            hidden = first_tensor(plain.anatomy.layers[index](*args, **kwargs))
    assert hidden is not None
    return hidden


def _select(options: dict[str, Any], items: Tensor, start: int) -> dict[str, Any]:
    """Mask and bias of the intact run, over all keys, for other items and the rows from `start`."""

    def select_rows(option: Any) -> Any:
        if not isinstance(option, Tensor) or option.ndim != 4:
            return option
        option = option[:, :, start:] if option.shape[2] > 1 else option
        return option[items] if option.shape[0] > 1 else option

    return {name: select_rows(option) for name, option in options.items()}


_HIDDEN = 0  # the residual stream is the first argument of every block
