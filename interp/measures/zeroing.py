"""Value zeroing: what a layer gives the query when the source's values are 0."""

from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor

from interp.measures.measure import Measure, where
from interp.measures.norms import shared_out
from interp.models.block import outputs_at_query
from interp.models.record import Record

_MOHEBBI = "Mohebbi et al. 2023, arXiv:2301.12971"


def moved(
    intact: Float[Tensor, "*row d_model"], edited: Float[Tensor, "*row d_model"]
) -> Float[Tensor, "*row"]:
    """One less the cosine, 0 to 2; 0 where the direction stays."""
    # The difference of unit vectors keeps what 1 − cos loses to rounding near 0.
    unit = partial(torch.nn.functional.normalize, dim=-1)
    return 0.5 * (unit(intact) - unit(edited)).square().sum(-1)


def value_zeroing(record: Record) -> Float[Tensor, "item layer head"]:
    """How far a layer's output at the query turns when no head has the source's values, 0 to 2.

    Attention is as it was; MLP and norms of the layer are live, and its input is the intact one.
    All of the source is zeroed together. Of the layer.
    """
    n_heads = record.z[0].shape[1]
    turned = _turned(record, torch.ones(1, n_heads))
    return where(record.batch.source.any(1), turned.expand(-1, -1, n_heads))


def head_value_zeroing(record: Record) -> Float[Tensor, "item layer head"]:
    """How far a layer's output at the query turns when one head has not the source's values.

    Query heads that share a kv head are still zeroed one at a time.
    """
    n_heads = record.z[0].shape[1]
    return where(record.batch.source.any(1), _turned(record, torch.eye(n_heads)))


def _turned(
    record: Record, zeroed: Float[Tensor, "variant head"]
) -> Float[Tensor, "item layer variant"]:
    """How far each layer's output turns when a variant's heads are zeroed at the source."""
    turned = [_turned_in(record, layer, zeroed) for layer in range(len(record.z))]
    return torch.stack(turned, dim=1)


def _turned_in(
    record: Record, layer: int, zeroed: Float[Tensor, "variant head"]
) -> Float[Tensor, "item variant"]:
    batch, z = record.batch, record.z[layer]
    rows = torch.arange(len(batch))
    value = shared_out(record.value[layer], z.shape[1])
    weights = record.pattern[layer] * batch.source[:, None]
    from_source = torch.einsum("ihk,ihkd->ihd", weights, value)

    own = z[rows, :, batch.query]
    # the intact row goes through the same computation, so that what turns nothing gives 0
    with_intact = torch.cat([zeroed, torch.zeros_like(zeroed[:1])])
    variants = own[:, None] - with_intact[None, :, :, None] * from_source[:, None]
    after = outputs_at_query(record, layer, variants)
    intact = after[:, -1:].expand_as(after[:, :-1])
    return moved(intact, after[:, :-1])


VALUE_ZEROING = Measure(
    name="value_zeroing",
    of=value_zeroing,
    league="value-aware",
    unit="1 − cosine, 0 to 2",
    chance="none",
    formula="1 − cos(x̃_q, x̃_q with v_src = 0), x̃ the layer's output",
    source=_MOHEBBI,
    of_layer=True,
)
HEAD_VALUE_ZEROING = Measure(
    name="head_value_zeroing",
    of=head_value_zeroing,
    league="value-aware",
    unit="1 − cosine, 0 to 2",
    chance="none",
    formula="1 − cos(x̃_q, x̃_q with v_src = 0 in one head)",
    source=f"{_MOHEBBI}; by head here",
)
