"""What each head adds to the logits by itself: direct logit attribution, where it adds up."""

from dataclasses import dataclass
from typing import Any

import torch
from einops import rearrange
from jaxtyping import Float
from torch import Tensor, nn

from interp.encode import Batch
from interp.models.model import Model
from interp.models.record import record
from interp.models.template import first_tensor

TOLERANCE = 1e-4
ROUNDING = 1e-6


@dataclass(frozen=True, kw_only=True)
class Attribution:
    """The logit difference of each item, as a sum.

    Attributes:
        heads: the part of each head, `[item, layer, head]`.
        rest: the part of everything else: embeddings, MLPs, biases.
    """

    heads: Float[Tensor, "item layer head"]
    rest: Float[Tensor, " item"]


def direct_logit_attribution(model: Model, batch: Batch) -> Attribution:
    """Each head's output at the query, through the final norm at its intact scale, unembedded.

    In logits, answer less foil; positive: the head by itself speaks for the answer. The parts of
    all heads and the rest sum to the logit difference. This is a contribution and not an effect:
    what later layers do about the head is not in it.

    Raises:
        ValueError: in this model heads do not add up so: their outputs pass a norm before they are
            added, the residual stream is normalised, or the logits are capped.

    Source: Elhage et al. 2021, A Mathematical Framework for Transformer Circuits.
    """
    require_decomposable(model)
    anatomy = model.plain.anatomy
    assert anatomy.unembedding is not None
    watched = _Watched(model, batch)
    rows = torch.arange(len(batch))
    weight = anatomy.unembedding.weight
    assert isinstance(weight, Tensor)
    with torch.inference_mode():
        recorded = record(model.plain, batch, keep=("z",))
        final = watched.outputs[-1][rows, batch.query]
        through_norm = FrozenNorm(anatomy.final_norm, final)
        direction = weight[batch.answer] - weight[batch.foil]
        parts = []
        for layer, projection in enumerate(watched.projections):
            z = recorded.z[layer][rows, :, batch.query]
            written = _per_head(projection, z)
            parts.append(torch.einsum("ihd,id->ih", through_norm(written), direction))
        heads = torch.stack(parts, dim=1) * anatomy.logit_scale
        difference = recorded.logits[rows, batch.answer] - recorded.logits[rows, batch.foil]
    return Attribution(heads=heads, rest=difference - heads.sum((1, 2)))


def require_decomposable(model: Model) -> None:
    """Refuse a model whose logits are no linear map of the last, normed state.

    Raises:
        ValueError: its logits are capped, made by more than an unembedding, or there are none.
    """
    anatomy = model.plain.anatomy
    if anatomy.unembedding is None or anatomy.logit_softcap is not None:
        raise _not_decomposable(model, "its logits are capped, or there are none")
    if anatomy.head is not None:
        raise _not_decomposable(model, "its head is more than an unembedding")


def head_outputs(
    model: Model, batch: Batch, z: list[Float[Tensor, "item head d_head"]]
) -> Float[Tensor, "item layer head d_model"]:
    """What each head writes to the residual stream, given its z, a tensor a layer; biases not.

    Raises:
        ValueError: the model does not add its heads' outputs (see `direct_logit_attribution`).
    """
    projections = output_projections(model, batch)
    with torch.inference_mode():
        written = [_per_head(*pair) for pair in zip(projections, z, strict=True)]
    return torch.stack(written, dim=1)


def output_projections(model: Model, batch: Batch) -> list[nn.Module]:
    """The module of each layer that takes its heads' z side by side and adds to the stream.

    Raises:
        ValueError: the model does not add its heads' outputs (see `direct_logit_attribution`).
    """
    return _Watched(model, batch).projections


class FrozenNorm:
    """The final norm as the linear map that it is at the scale of the intact run.

    Its scale depends on the size of the states alone, so the gain of each coordinate is read off a
    state of the same size in which no coordinate is 0.
    """

    def __init__(self, norm: nn.Module | None, states: Float[Tensor, "item d_model"]) -> None:
        self._gain: Tensor | None = None
        self._centres = False
        if norm is not None:
            self._centres = torch.allclose(norm(states), norm(states + 1), atol=1e-3)
            centred = states - states.mean(-1, keepdim=True) if self._centres else states
            signs = 1 - 2.0 * (torch.arange(states.shape[-1], device=states.device) % 2)
            signs = signs - signs.mean()
            size = (centred.square().mean(-1, keepdim=True) / signs.square().mean()).sqrt()
            even = size * signs
            self._gain = (norm(even) - norm(torch.zeros_like(states))) / even

    def __call__(
        self, written: Float[Tensor, "item head d_model"]
    ) -> Float[Tensor, "item head d_model"]:
        """What reaches the unembedding of what was written."""
        if self._gain is None:
            return written
        if self._centres:
            written = written - written.mean(-1, keepdim=True)
        return written * self._gain[:, None]


class _Watched:
    """One forward, watched: output projections and blocks, and whether they add up."""

    def __init__(self, model: Model, batch: Batch) -> None:
        self.outputs: list[Tensor] = []
        self.projections: list[nn.Module] = []
        anatomy = model.plain.anatomy
        z = record(model.plain, batch, keep=("z",)).z
        for layer, block in enumerate(anatomy.layers):
            merged = rearrange(z[layer], "item head pos d_head -> item pos (head d_head)")
            seen = _run_watched(model, batch, block)
            projection = _taking(merged, seen)
            taken, given = seen[block]
            if projection is None or not _adds_up(given - taken - seen[projection][1], seen, given):
                raise _not_decomposable(model, f"layer {layer} does not add its heads' outputs")
            self.projections.append(projection)
            self.outputs.append(given)


def _run_watched(
    model: Model, batch: Batch, block: nn.Module
) -> dict[nn.Module, tuple[Tensor, Tensor]]:
    """What each part of a block takes and gives in one forward."""
    seen: dict[nn.Module, tuple[Tensor, Tensor]] = {}

    def watch(part: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        if args and isinstance(args[0], Tensor) and isinstance(output, (Tensor, tuple)):
            seen[part] = (args[0], first_tensor(output))

    handles = [part.register_forward_hook(watch) for part in block.modules()]
    try:
        with torch.inference_mode():
            model.plain.states(batch.ids)
    finally:
        for handle in handles:
            handle.remove()
    return seen


def _taking(
    z: Float[Tensor, "item pos d_z"], seen: dict[nn.Module, tuple[Tensor, Tensor]]
) -> nn.Module | None:
    for part, (taken, _) in seen.items():
        if taken.shape == z.shape and torch.allclose(taken, z, atol=TOLERANCE):
            return part
    return None


def _adds_up(
    remainder: Float[Tensor, "item pos d_model"],
    seen: dict[nn.Module, tuple[Tensor, Tensor]],
    output: Float[Tensor, "item pos d_model"],
) -> bool:
    """Whether what a block adds beside its heads is what one of its parts gives: the MLP."""
    allowed = TOLERANCE * remainder.abs().max() + ROUNDING * output.abs().max()
    return any(
        given.shape == remainder.shape and bool((given - remainder).abs().max() <= allowed)
        for _, given in seen.values()
    )


def _per_head(
    projection: nn.Module, z: Float[Tensor, "item head d_head"]
) -> Float[Tensor, "item head d_model"]:
    """What each head writes, without the projection's bias: the projection, a head at a time."""
    alone = torch.diag_embed(z.mT).permute(0, 2, 3, 1)
    merged = rearrange(alone, "item head other d_head -> item head (other d_head)")
    written: Tensor = projection(merged) - projection(torch.zeros_like(merged))
    return written


def _not_decomposable(model: Model, why: str) -> ValueError:
    return ValueError(
        f"logits of {type(model.plain.module).__name__} are not decomposable into heads: {why}; "
        "use exact effects (`interp.sweep`) instead."
    )
