"""What each head adds to the logits by itself: direct logit attribution, where it adds up."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from interp.encode import Batch
from interp.models.frozen_norm import FrozenNorm
from interp.models.model import Model
from interp.models.plain import Plain
from interp.models.record import Record, record
from interp.models.stream import Stream, streams
from interp.models.undefined import UndefinedError


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
        UndefinedError: in this model heads do not add up so: their outputs pass a norm before they
            are added, the residual stream is normalised, or the logits are capped.

    Source: Elhage et al. 2021, A Mathematical Framework for Transformer Circuits.
    """
    recorded = record(model.plain, batch)
    rows = torch.arange(len(batch))
    parts = []
    with torch.inference_mode():
        for layer, reading in enumerate(value_readings(recorded)):
            z = recorded.z[layer][rows, :, batch.query]
            parts.append(torch.einsum("ihd,ihd->ih", z, reading))
        heads = torch.stack(parts, dim=1)
        difference = recorded.logits[rows, batch.answer] - recorded.logits[rows, batch.foil]
    return Attribution(heads=heads, rest=difference - heads.sum((1, 2)))


def value_readings(record: Record) -> list[Float[Tensor, "item head d_head"]]:
    """For each layer, what a head's z at the query is worth in logits, answer less foil.

    The product of z and its reading is the head's direct logit attribution; that of one value and
    its reading, times attention, is what comes from one key.

    Raises:
        UndefinedError: as `direct_logit_attribution`.
    """
    plain, batch = record.plain, record.batch
    direction = answer_direction(plain, batch.answer, batch.foil)
    outputs = _adding_outputs(plain, record.streams)
    with torch.inference_mode():
        read_by_logits = FrozenNorm(plain.anatomy.final_norm, record.final).back(direction)
        return [torch.einsum("im,hdm->ihd", read_by_logits, output) for output in outputs]


def answer_direction(
    plain: Plain, answer: Int[Tensor, " item"], foil: Int[Tensor, " item"]
) -> Float[Tensor, "item d_model"]:
    """What reads the logit of the answer less that of the foil off the last, normed state.

    Raises:
        UndefinedError: the logits are capped, made by more than an unembedding, or there are none.
    """
    anatomy = plain.anatomy
    if anatomy.unembedding is None or anatomy.logit_softcap is not None:
        raise _not_decomposable(plain, "its logits are capped, or there are none")
    if anatomy.head is not None:
        raise _not_decomposable(plain, "its logits are not a linear map of its states")
    weight = anatomy.unembedding.weight
    assert isinstance(weight, Tensor)
    with torch.inference_mode():
        return (weight[answer] - weight[foil]) * anatomy.logit_scale


def head_outputs(
    model: Model, z: list[Float[Tensor, "item head d_head"]]
) -> Float[Tensor, "item layer head d_model"]:
    """What each head writes to the residual stream, given its z, a tensor a layer; biases not.

    Raises:
        UndefinedError: the model does not add its heads' outputs (see `direct_logit_attribution`).
    """
    outputs = _adding_outputs(model.plain, streams(model.plain))
    written = [torch.einsum("ihd,hdm->ihm", *pair) for pair in zip(z, outputs, strict=True)]
    return torch.stack(written, dim=1)


def _adding_outputs(
    plain: Plain, found: list[Stream]
) -> list[Float[Tensor, "head d_head d_model"]]:
    for layer, stream in enumerate(found):
        if not stream.adds_up:
            raise _not_decomposable(plain, f"layer {layer} does not add its heads' outputs")
    return [stream.output for stream in found]


def _not_decomposable(plain: Plain, why: str) -> UndefinedError:
    return UndefinedError(
        f"logits of {type(plain.module).__name__} are not decomposable into heads: {why}; "
        "use exact effects (`interp.sweep`) instead."
    )
