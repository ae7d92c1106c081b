"""What a head's weights say by themselves: its OV circuit and its QK circuit, in a few numbers."""

from collections.abc import Sequence

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from interp.heads import Head
from interp.models.head_maps import HeadMaps, head_maps
from interp.models.plain import Plain

_NUMBERS = ("ov_norm", "ov_rank", "ov_sign", "qk_norm", "qk_rank", "qk_sign")


def circuits(plain: Plain) -> pd.DataFrame:
    """The OV and the QK circuit of every head, a row a head.

    - `ov_norm`, `qk_norm`: Frobenius norm of `W_V W_O` and of `scale · W_Q W_Kᵀ`.
    - `ov_rank`, `qk_rank`: the number of directions in use, `(Σ σ)² / Σ σ²`, 1 to d_head.
    - `ov_sign`, `qk_sign`: `Σ Re λ / Σ |λ|`, −1 to 1: 1 for a head that writes what it reads, or
      attends to what is like the query.

    Maps are of what the attention is given, behind its norm; QK is that of a query and a key at the
    same place (rotary turns it with their distance) and NaN where queries and keys are normed.

    Raises:
        UndefinedError: values are no linear map of what the attention is given.

    Source: Elhage et al. 2021, A Mathematical Framework for Transformer Circuits.
    """
    rows = []
    for layer, maps in enumerate(head_maps(plain)):
        ov = _summary(maps.head_value, maps.stream.output)
        qk = _query_key(maps)
        for head in range(len(maps.stream.output)):
            label = Head(layer, head).label
            row = {"layer": layer, "head": head, "label": label}
            names = ("norm", "rank", "sign")
            row |= {
                f"ov_{name}": values[head].item() for name, values in zip(names, ov, strict=True)
            }
            row |= {
                f"qk_{name}": values[head].item() for name, values in zip(names, qk, strict=True)
            }
            rows.append(row)
    return pd.DataFrame(rows)


def ov_circuit(maps: HeadMaps, head: int) -> Float[Tensor, "d_model d_model"]:
    """`W_V W_O` of one query head: from what the attention is given to what the head writes."""
    return maps.head_value[head] @ maps.stream.output[head]


def copying_sign(
    read: Float[Tensor, "*batch d_model d_head"], write: Float[Tensor, "*batch d_head d_model"]
) -> Float[Tensor, "*batch"]:
    """`Σ Re λ / Σ |λ|` of `read · write`, −1 to 1; NaN where the product is 0.

    `write · read` has the same eigenvalues but for zeros, and is small.
    """
    eigenvalues = torch.linalg.eigvals(write.double() @ read.double())
    sign: Tensor = eigenvalues.real.sum(-1) / eigenvalues.abs().sum(-1)
    return sign.float()


def _query_key(maps: HeadMaps) -> Sequence[Float[Tensor, " head"]]:
    key = maps.head_key
    if maps.query is None or key is None:
        undefined = torch.full((len(maps.stream.output),), torch.nan)
        return undefined, undefined, undefined
    return _summary(maps.query * maps.scale, key.mT)


def _summary(
    read: Float[Tensor, "head d_model d_head"], write: Float[Tensor, "head d_head d_model"]
) -> tuple[Float[Tensor, " head"], Float[Tensor, " head"], Float[Tensor, " head"]]:
    """Norm, number of directions and sign of a product, without making it."""
    _, left = torch.linalg.qr(read)
    _, right = torch.linalg.qr(write.mT)
    sigma = torch.linalg.svdvals(left @ right.mT)
    size = sigma.square().sum(-1)
    return size.sqrt(), sigma.sum(-1).square() / size, copying_sign(read, write)
