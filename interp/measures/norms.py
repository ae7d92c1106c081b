"""How much of a key's value arrives: attention weighted by the length of what it carries."""

import torch
from jaxtyping import Float
from torch import Tensor

from interp.measures.measure import Measure, at_source
from interp.models.record import Record

_KOBAYASHI = "Kobayashi et al. 2020, arXiv:2004.10102"


def lengths(
    pattern: Float[Tensor, "item head *query key"],
    value: Float[Tensor, "item kv_head key d_head"],
    output: Float[Tensor, "head d_head d_model"],
) -> Float[Tensor, "item head *query key"]:
    """`‖A f(x)‖`: the length of what each head takes from each key, in the residual stream.

    The projection's bias is in no head and left out. A query head reads its own kv head.
    """
    # A length is kept by the orthogonal part of W_O; what is left is d_head wide.
    _, narrow = torch.linalg.qr(output.mT)
    carried = torch.einsum("ihkd,hed->ihke", shared_out(value, len(output)), narrow).norm(dim=-1)
    return pattern * _beside(carried, pattern)


def weighted(
    pattern: Float[Tensor, "item head *query key"], value: Float[Tensor, "item kv_head key d_head"]
) -> Float[Tensor, "item head *query key"]:
    """`A ‖v‖`: attention times the length of the value, before the projection."""
    return pattern * _beside(shared_out(value, pattern.shape[1]).norm(dim=-1), pattern)


def shared_out(
    value: Float[Tensor, "item kv_head key d_head"], n_heads: int
) -> Float[Tensor, "item head key d_head"]:
    """The values that each query head reads: kv head h // group."""
    return value.repeat_interleave(n_heads // value.shape[1], dim=1)


def norm(record: Record) -> Float[Tensor, "item layer head"]:
    """`Σ_src ‖A f(x_j)‖`, in units of the residual stream, 0 or more."""
    return at_source(record, _lengths(record))


def norm_share(record: Record) -> Float[Tensor, "item layer head"]:
    """`norm` as a share of its sum over all keys, 0 to 1; undefined where a head takes nothing."""
    return at_source(record, [row / row.sum(-1, keepdim=True) for row in _lengths(record)])


def value_weighted(record: Record) -> Float[Tensor, "item layer head"]:
    """`Σ_src A ‖v_j‖`, in units of the values, 0 or more."""
    rows = zip(record.pattern, record.value, strict=True)
    return at_source(record, [weighted(*row) for row in rows])


NORM = Measure(
    name="norm",
    of=norm,
    league="value-aware",
    unit="length in the residual stream, 0 or more",
    chance="even",
    formula="Σ_src ‖A[q, j] f(x_j)‖",
    source=_KOBAYASHI,
)
NORM_SHARE = Measure(
    name="norm_share",
    of=norm_share,
    league="value-aware",
    unit="share, 0 to 1",
    chance="even",
    formula="Σ_src ‖A[q, j] f(x_j)‖ / Σ_j ‖A[q, j] f(x_j)‖",
    source=_KOBAYASHI,
)
VALUE_WEIGHTED = Measure(
    name="value_weighted",
    of=value_weighted,
    league="value-aware",
    unit="length of a value, 0 or more",
    chance="even",
    formula="Σ_src A[q, j] ‖v_j‖",
    source="Kobayashi et al. 2020, arXiv:2004.10102, without the projection",
)


def _lengths(record: Record) -> list[Float[Tensor, "item head key"]]:
    outputs = [stream.output for stream in record.streams]
    rows = zip(record.pattern, record.value, outputs, strict=True)
    return [lengths(*row) for row in rows]


def _beside(
    carried: Float[Tensor, "item head key"], pattern: Float[Tensor, "item head *query key"]
) -> Float[Tensor, "item head *#query key"]:
    """What each key carries, with an axis for queries where the pattern has one."""
    return carried if carried.ndim == pattern.ndim else carried[:, :, None]
