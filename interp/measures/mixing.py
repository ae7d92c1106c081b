"""What a layer mixes in, beside what stays: the heads' norms with the residual stream among them.

These are of a whole layer: heads are summed before lengths are taken.
"""

from collections.abc import Iterator

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from interp.measures.measure import Kernel, Measure, repeated, where
from interp.measures.norms import shared_out
from interp.models.frozen_norm import FrozenNorm
from interp.models.record import Record
from interp.models.stream import Stream
from interp.models.undefined import UndefinedError

_KOBAYASHI = "Kobayashi et al. 2021, arXiv:2109.07152"


def mixing_share(
    parts: Float[Tensor, "item key d_model"], is_query: Bool[Tensor, "item key"]
) -> Float[Tensor, " item"]:
    """How much comes from other places, 0 to 1: `‖Σ_{j≠q} y‖ / (‖Σ_{j≠q} y‖ + ‖y_q‖)`."""
    mixed = (parts * ~is_query[:, :, None]).sum(1).norm(dim=-1)
    kept = (parts * is_query[:, :, None]).sum(1).norm(dim=-1)
    share: Tensor = mixed / (mixed + kept)
    return share


def source_share(
    parts: Float[Tensor, "item key d_model"], source: Bool[Tensor, "item key"]
) -> Float[Tensor, " item"]:
    """The source's share of all lengths, 0 to 1: `Σ_src ‖y_j‖ / Σ_j ‖y_j‖`."""
    sizes = parts.norm(dim=-1)
    share: Tensor = (sizes * source).sum(1) / sizes.sum(1)
    return share


def residual_share(record: Record) -> Float[Tensor, "item layer head"]:
    """`source_share` of heads and residual stream together."""
    return _of_source(record, with_norm=False)


def residual_norm_share(record: Record) -> Float[Tensor, "item layer head"]:
    """`source_share` behind the norm that follows, its scale as it was; post-norm models only."""
    return _of_source(record, with_norm=True)


def mixing(record: Record) -> Float[Tensor, "item layer head"]:
    """`mixing_share` of heads and residual stream at the query."""
    return _mixing(record, with_norm=False)


def mixing_norm(record: Record) -> Float[Tensor, "item layer head"]:
    """`mixing_share` behind the norm that follows, its scale as it was; post-norm models only."""
    return _mixing(record, with_norm=True)


def _of_source(record: Record, *, with_norm: bool) -> Float[Tensor, "item layer head"]:
    source = record.batch.source
    shares = [source_share(parts, source) for parts in _parts(record, with_norm=with_norm)]
    return where(source.any(1), repeated(torch.stack(shares, dim=1), record.z[0].shape[1]))


def _mixing(record: Record, *, with_norm: bool) -> Float[Tensor, "item layer head"]:
    is_query = _is_query(record)
    shares = [mixing_share(parts, is_query) for parts in _parts(record, with_norm=with_norm)]
    return repeated(torch.stack(shares, dim=1), record.z[0].shape[1])


def _is_query(record: Record) -> Bool[Tensor, "item key"]:
    n_positions = record.batch.ids.shape[1]
    return torch.arange(n_positions) == record.batch.query[:, None]


def _parts(record: Record, *, with_norm: bool) -> Iterator[Float[Tensor, "item key d_model"]]:
    """Layer by layer, what each key gives to the query's stream, the stream itself at the query."""
    rows, query = torch.arange(len(record.batch)), record.batch.query
    for layer, stream in enumerate(record.streams):
        _require(stream, layer, with_norm=with_norm)
        value = shared_out(record.value[layer], len(stream.output))
        weighted = record.pattern[layer][..., None] * value
        parts = torch.einsum("ihkd,hdm->ikm", weighted, stream.output)
        stays = record.entering[layer][rows, query]
        parts[rows, query] += stays
        if with_norm:
            whole = parts.sum(1) + stream.bias
            frozen = FrozenNorm(stream.norm_after, whole[:, None])
            parts = frozen(parts)
        yield parts


def _require(stream: Stream, layer: int, *, with_norm: bool) -> None:
    if stream.norm_after is None and not stream.adds_up:
        raise UndefinedError(
            f"layer {layer} norms what its heads write before adding it to the residual stream, so "
            "the two are no sum whose parts can be compared; use `norm` instead."
        )
    if with_norm and stream.norm_after is None:
        raise UndefinedError(
            f"no norm follows the sum of heads and residual stream in layer {layer}, which adds "
            "them as they are; use the form without it."
        )


def _measure(name: str, of: Kernel, formula: str) -> Measure:
    return Measure(
        name=name,
        of=of,
        league="value-aware",
        unit="share, 0 to 1",
        chance="none",
        formula=formula,
        source=_KOBAYASHI,
        of_layer=True,
    )


_Y = "y_j = Σ_h A[q, j] f_h(x_j), and x_q more for j = q"
RESIDUAL_SHARE = _measure("residual_share", residual_share, f"Σ_src ‖y_j‖ / Σ_j ‖y_j‖, {_Y}")
RESIDUAL_NORM_SHARE = _measure(
    "residual_norm_share", residual_norm_share, f"Σ_src ‖g(y_j)‖ / Σ_j ‖g(y_j)‖, g the norm, {_Y}"
)
MIXING = _measure("mixing", mixing, f"‖Σ_(j≠q) y_j‖ / (‖Σ_(j≠q) y_j‖ + ‖y_q‖), {_Y}")
MIXING_NORM = _measure("mixing_norm", mixing_norm, f"`mixing` of g(y_j), g the norm, {_Y}")
