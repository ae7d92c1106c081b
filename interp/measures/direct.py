"""What comes from a key straight to the logits: projected value-weighted attention and its sum."""

import torch
from jaxtyping import Float
from torch import Tensor

from interp.measures.measure import Measure, at_source
from interp.measures.norms import shared_out
from interp.models.direct import value_readings
from interp.models.record import Record

_ELHAGE = "Elhage et al. 2021, A Mathematical Framework for Transformer Circuits"


def projected(
    pattern: Float[Tensor, "item head key"],
    value: Float[Tensor, "item kv_head key d_head"],
    reading: Float[Tensor, "item head d_head"],
) -> Float[Tensor, "item head key"]:
    """`A (v · reading)`: what each key says for the answer, in units of the reading."""
    return pattern * torch.einsum("ihkd,ihd->ihk", shared_out(value, pattern.shape[1]), reading)


def pvw(record: Record) -> Float[Tensor, "item layer head"]:
    """What a head takes from the source straight to the logits, answer less foil; signed.

    Summed over all keys it is the head's direct logit attribution.

    Raises:
        UndefinedError: as `interp.models.direct.direct_logit_attribution`.
    """
    rows = zip(record.pattern, record.value, value_readings(record), strict=True)
    return at_source(record, [projected(*row) for row in rows])


def dla(record: Record) -> Float[Tensor, "item layer head"]:
    """What a head says at the query straight to the logits, whatever its source; signed.

    Raises:
        UndefinedError: as `interp.models.direct.direct_logit_attribution`.
    """
    rows = torch.arange(len(record.batch))
    z = [layer[rows, :, record.batch.query] for layer in record.z]
    pairs = zip(z, value_readings(record), strict=True)
    return torch.stack([(z * reading).sum(-1) for z, reading in pairs], dim=1).float()


PVW = Measure(
    name="pvw",
    of=pvw,
    league="metric-aware",
    unit="logits, answer less foil",
    chance="zero",
    formula="Σ_src A[q, j] f(x_j) · u, u the reading of answer less foil through the final norm",
    source=f"{_ELHAGE}; key by key here",
)
DLA = Measure(
    name="dla",
    of=dla,
    league="metric-aware",
    unit="logits, answer less foil",
    chance="zero",
    formula="Σ_j A[q, j] f(x_j) · u",
    source=_ELHAGE,
)
