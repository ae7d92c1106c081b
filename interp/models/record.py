"""One intact run of a batch, with all that a later run of some of its rows needs."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from interp.encode import Batch
from interp.models.axes import Arguments, Axes, probe_axes, recording
from interp.models.plain import Call, Plain, attend
from interp.models.stream import Stream, streams


@dataclass(frozen=True, kw_only=True)
class Record:
    """The intact run of a batch. Lists have one entry a layer.

    Attributes:
        plain: the model that was run.
        arguments: what each layer was called with; `axes` say where its items and rows are.
        key, value: post-rotary, `[item, kv_head, pos, d_head]`.
        z: each head's output before the output projection, `[item, head, pos, d_head]`.
        pattern: each head's attention at the item's query, `[item, head, key]`.
        options: the further arguments of its attention, such as mask and bias.
        final: what the last block gives at the query.
        logits: at the query, as the model gives them; no column for a model without a vocabulary.
    """

    plain: Plain
    batch: Batch
    arguments: list[Arguments]
    axes: list[list[Axes]]
    key: list[Tensor]
    value: list[Tensor]
    z: list[Tensor]
    pattern: list[Tensor]
    options: list[dict[str, Any]]
    final: Float[Tensor, "item d_model"]
    logits: Float[Tensor, "item vocab"]

    @cached_property
    def streams(self) -> list[Stream]:
        """Where each layer's heads stand in the residual stream; found when first asked for."""
        return streams(self.plain)

    def entering(self, layer: int) -> Float[Tensor, "item pos d_model"]:
        """The residual stream as a layer takes it: the first argument of every block."""
        stream = self.arguments[layer].leaves[0]
        assert isinstance(stream, Tensor)
        return stream


def record(plain: Plain, batch: Batch) -> Record:
    """Run a batch intact and keep what the engine needs.

    Raises:
        ValueError: the model does not take items of equal length in one batch.
    """
    key: list[Tensor] = []
    value: list[Tensor] = []
    z: list[Tensor] = []
    pattern: list[Tensor] = []
    options: list[dict[str, Any]] = []
    rows = torch.arange(len(batch))

    def keep(call: Call) -> Tensor:
        def at_query(name: str, tensor: Tensor) -> Tensor:
            if name == "pattern":
                pattern.append(tensor[rows, :, batch.query].clone())
            return tensor

        given = attend(
            Call(call.layer, call.query, call.key, call.value, {**call.options, "hook": at_query})
        )
        options.append(call.options)
        key.append(call.key)
        value.append(call.value)
        z.append(given)
        return given

    outputs: list[Tensor] = []
    handle = plain.anatomy.layers[-1].register_forward_hook(_keep_output(outputs))
    try:
        with (
            torch.inference_mode(),
            recording(plain.anatomy.layers) as arguments,
            plain.attending(keep),
        ):
            plain.states(batch.ids)
            final = outputs[0][rows, batch.query]
            has_logits = plain.anatomy.unembedding is not None
            logits = plain.readout(final, None) if has_logits else final[:, :0]
    finally:
        handle.remove()
    return Record(
        plain=plain,
        batch=batch,
        arguments=arguments,
        axes=probe_axes(plain),
        key=key,
        value=value,
        z=z,
        pattern=pattern,
        options=options,
        final=final,
        logits=logits,
    )


def last_states(plain: Plain, ids: Int[Tensor, "item pos"]) -> Float[Tensor, "item pos d_model"]:
    """What the last block gives, with a graph where gradients are enabled; nothing unembedded."""
    outputs: list[Tensor] = []
    handle = plain.anatomy.layers[-1].register_forward_hook(_keep_output(outputs))
    try:
        plain.states(ids)
    finally:
        handle.remove()
    return outputs[0]


def _keep_output(into: list[Tensor]) -> Any:
    def keep(module: nn.Module, inputs: tuple[Any, ...], output: Any) -> None:
        into.append(first_tensor(output))

    return keep


def first_tensor(output: Any) -> Tensor:
    """A block's output, which some families wrap in a tuple."""
    tensor = output[0] if isinstance(output, tuple) else output
    assert isinstance(tensor, Tensor)
    return tensor
