"""Each head's query, key, value and output as matrices, read off what the attention makes of them.

Every attention is given unit vectors for an input, each alone in its text and so at position 0,
where rotary angles are 0. What it then asks, answers and holds are the rows of its matrices,
whichever way a family keeps them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.utils import _pytree

from interp.models.plain import Call, Plain, attend
from interp.models.stream import Stream, streams
from interp.models.undefined import UndefinedError

_A_TOKEN = 3


@dataclass(frozen=True, kw_only=True)
class HeadMaps:
    """One layer's heads as linear maps of what the attention is given, behind its norm.

    Attributes:
        query, key: at position 0, biases left out; None where they are normed and so no maps.
        value, value_bias: one for each kv head.
        stream: where the heads stand in the residual stream, and what z is multiplied by.
        scale: what a dot product of query and key is multiplied by.
    """

    query: Float[Tensor, "head d_model d_head"] | None
    key: Float[Tensor, "kv_head d_model d_head"] | None
    value: Float[Tensor, "kv_head d_model d_value"]
    value_bias: Float[Tensor, "kv_head d_value"]
    stream: Stream
    scale: float

    @property
    def head_value(self) -> Float[Tensor, "head d_model d_value"]:
        """The value map that each query head reads: that of kv head h // group."""
        return _shared_out(self.value, len(self.stream.output))

    @property
    def head_key(self) -> Float[Tensor, "head d_model d_head"] | None:
        """The key map that each query head reads."""
        return None if self.key is None else _shared_out(self.key, len(self.stream.output))


def head_maps(plain: Plain) -> list[HeadMaps]:
    """The maps of each layer's heads.

    Raises:
        UndefinedError: a value is no linear map of its input, or no module takes the heads' z.
    """
    found = streams(plain)
    d_model = found[0].output.shape[-1]
    generator = torch.Generator().manual_seed(0)
    device, dtype = plain.module.device, plain.module.dtype
    inputs = torch.cat(
        [
            torch.eye(d_model),
            torch.zeros(1, d_model),
            torch.randn(1, d_model, generator=generator),  # to see whether the map is linear
        ]
    ).to(device, dtype)
    calls: list[Call] = []

    def keep(call: Call) -> Tensor:
        calls.append(call)
        return attend(call)

    handles = [
        attention.register_forward_pre_hook(_giving(inputs[:, None]), with_kwargs=True)
        for attention in plain.anatomy.attentions
    ]
    try:
        with torch.inference_mode(), plain.attending(keep):
            plain.states(torch.full((len(inputs), 1), _A_TOKEN, device=device))
    finally:
        for handle in handles:
            handle.remove()
    return [_maps(call, stream, inputs[-1]) for call, stream in zip(calls, found, strict=True)]


def _maps(call: Call, stream: Stream, sample: Float[Tensor, " d_model"]) -> HeadMaps:
    query, key = _linear(call.query, sample), _linear(call.key, sample)
    value = _linear(call.value, sample)
    if value is None:
        raise UndefinedError(
            f"the values of layer {call.layer} are no linear map of what the attention is given, "
            "so its heads have no OV circuit."
        )
    return HeadMaps(
        query=None if key is None else query,
        key=None if query is None else key,
        value=value,
        value_bias=call.value[-2, :, 0],
        stream=stream,
        scale=call.options["scale"],
    )


def _linear(
    given: Float[Tensor, "input head 1 d_head"], sample: Float[Tensor, " d_model"]
) -> Float[Tensor, "head d_model d_head"] | None:
    """The matrix of which unit vectors show the rows; None if another input shows it is none."""
    rows = given[:, :, 0].transpose(0, 1)
    matrix, bias, expected = rows[:, :-2] - rows[:, -2:-1], rows[:, -2], rows[:, -1]
    came = torch.einsum("m,hmd->hd", sample, matrix) + bias
    tolerance = 1e-3 * expected.abs().max().item() + 1e-6
    return matrix if torch.allclose(came, expected, atol=tolerance) else None


def _giving(inputs: Float[Tensor, "input 1 d_model"]) -> Callable[..., Any]:
    """A hook by which a module is called with `inputs` in place of its hidden states."""

    def instead(module: nn.Module, args: Any, kwargs: Any) -> Any:
        leaves, spec = _pytree.tree_flatten((args, kwargs))
        place = next(
            index
            for index, leaf in enumerate(leaves)
            if isinstance(leaf, Tensor) and leaf.shape == inputs.shape
        )
        leaves[place] = inputs
        return _pytree.tree_unflatten(leaves, spec)

    return instead


def _shared_out(
    maps: Float[Tensor, "kv_head d_model d_head"], n_heads: int
) -> Float[Tensor, "head d_model d_head"]:
    return maps.repeat_interleave(n_heads // len(maps), dim=0)
