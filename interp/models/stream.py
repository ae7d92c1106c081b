"""How each layer's heads read the residual stream and write to it, found by watching one forward.

Modules are told by what they take and give, not by their names. Each head's z is replaced by noise
for the watch, so that the projection that takes it cannot be mistaken for another part.
"""

from dataclasses import dataclass

import torch
from einops import rearrange
from jaxtyping import Float
from torch import Tensor, nn

from interp.models.anatomy import inputs_and_outputs
from interp.models.plain import Call, Plain
from interp.models.undefined import UndefinedError

TOLERANCE = 1e-4
ROUNDING = 1e-6


@dataclass(frozen=True, kw_only=True)
class Stream:
    """Where one layer's heads stand in the residual stream.

    Attributes:
        projection: the module that takes all heads' z and gives what is added.
        output: what each head's z is multiplied by before it is added.
        bias: what the projection adds beside, zeros where it has no bias.
        norm_before: what stands between the stream and the attention, if anything.
        norm_after: what norms the sum of stream and heads where the stream itself goes on normed
            (post-norm), if anything.
        adds_up: whether the layer gives its input, plus what the projection gives, plus what one
            other part gives, such as the MLP.
    """

    projection: nn.Module
    output: Float[Tensor, "head d_head d_model"]
    bias: Float[Tensor, " d_model"]
    norm_before: nn.Module | None
    norm_after: nn.Module | None
    adds_up: bool


def streams(plain: Plain) -> list[Stream]:
    """The place of each layer's heads in the stream.

    Raises:
        UndefinedError: no module of a layer takes its heads' z as it is.
    """
    generator = torch.Generator().manual_seed(0)
    noise: list[Tensor] = []

    def make_noise(call: Call) -> Tensor:
        shape = (*call.query.shape[:3], call.value.shape[-1])
        z = torch.randn(shape, generator=generator).to(call.query)
        noise.append(z)
        return z

    with torch.inference_mode(), plain.attending(make_noise):
        seen = inputs_and_outputs(plain.module)
    return [_stream(plain, layer, z, seen) for layer, z in enumerate(noise)]


def _stream(
    plain: Plain, layer: int, z: Tensor, seen: dict[nn.Module, tuple[Tensor, Tensor]]
) -> Stream:
    block = plain.anatomy.layers[layer]
    parts = {part: seen[part] for part in block.modules() if part in seen}
    merged = rearrange(z, "item head pos d_head -> item pos (head d_head)")
    maps = (part for part in parts if next(part.children(), None) is None)
    projection = next((part for part in maps if _same(parts[part][0], merged)), None)
    if projection is None:
        raise UndefinedError(
            f"no module of layer {layer} of {type(plain.module).__name__} takes its heads' z as it "
            "is, so what each head writes is not known; use exact effects (`interp.sweep`) instead."
        )
    taken, given = seen[block]
    read = parts[plain.anatomy.attentions[layer]][0]
    heads = parts[projection][1]
    adds_up = _adds_up(given - taken - heads, parts, given)
    is_post_norm = not adds_up and _same(taken, read)
    return Stream(
        projection=projection,
        output=_weight(projection, z),
        bias=_bias(projection, merged),
        norm_before=_between(parts, taken, read),
        norm_after=_norm_of(parts, taken + heads) if is_post_norm else None,
        adds_up=adds_up,
    )


def _between(
    parts: dict[nn.Module, tuple[Tensor, Tensor]], start: Tensor, end: Tensor
) -> nn.Module | None:
    if _same(start, end):
        return None
    fits = (part for part, (a, b) in parts.items() if _same(a, start) and _same(b, end))
    return next(fits, None)


def _norm_of(parts: dict[nn.Module, tuple[Tensor, Tensor]], total: Tensor) -> nn.Module | None:
    allowed = TOLERANCE * total.abs().max()
    fits = (
        part
        for part, (taken, given) in parts.items()
        if taken.shape == given.shape == total.shape and (taken - total).abs().max() <= allowed
        if isinstance(getattr(part, "weight", None), Tensor) and part.weight.ndim == 1
    )
    return next(fits, None)


def _adds_up(
    remainder: Float[Tensor, "item pos d_model"],
    parts: dict[nn.Module, tuple[Tensor, Tensor]],
    output: Float[Tensor, "item pos d_model"],
) -> bool:
    """Whether what a block adds beside its heads is what one of its parts gives: the MLP."""
    allowed = TOLERANCE * remainder.abs().max() + ROUNDING * output.abs().max()
    return any(
        given.numel() == remainder.numel()
        and bool((given.reshape(remainder.shape) - remainder).abs().max() <= allowed)
        for _, given in parts.values()
    )


def _weight(
    projection: nn.Module, z: Float[Tensor, "item head pos d_head"]
) -> Float[Tensor, "head d_head d_model"]:
    """The weight of a linear map, its bias left out, whichever way round it is kept."""
    _, n_heads, _, d_head = z.shape
    basis = torch.eye(n_heads * d_head, device=z.device, dtype=z.dtype)[None]
    with torch.inference_mode():
        written = projection(basis) - projection(torch.zeros_like(basis))
    weight: Tensor = rearrange(
        written[0], "(head d_head) d_model -> head d_head d_model", head=n_heads
    )
    return weight


def _bias(projection: nn.Module, merged: Tensor) -> Float[Tensor, " d_model"]:
    with torch.inference_mode():
        bias: Tensor = projection(torch.zeros_like(merged))[0, 0]
    return bias


def _same(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and torch.equal(one, other)
