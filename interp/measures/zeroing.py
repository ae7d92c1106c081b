"""Value zeroing: what a layer gives the query when the source's values are 0."""

from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor

from interp.measures.measure import Measure, where
from interp.measures.norms import shared_out
from interp.models.block import block_output
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
    turned = [_turned(record, layer, torch.ones(1, n_heads)) for layer in range(len(record.z))]
    turns = torch.stack(turned, dim=1).expand(-1, -1, n_heads)
    return where(record.batch.source.any(1), turns)


def head_value_zeroing(record: Record) -> Float[Tensor, "item layer head"]:
    """How far a layer's output at the query turns when one head has not the source's values.

    Query heads that share a kv head are still zeroed one at a time.
    """
    n_heads = record.z[0].shape[1]
    turned = [_turned(record, layer, torch.eye(n_heads)) for layer in range(len(record.z))]
    return where(record.batch.source.any(1), torch.stack(turned, dim=1))


def _turned(
    record: Record, layer: int, zeroed: Float[Tensor, "variant head"]
) -> Float[Tensor, "item variant"]:
    """How far the layer's output turns when the heads of each variant are zeroed at the source."""
    batch = record.batch
    n_items, n_variants, start = len(batch), len(zeroed), int(batch.query.min())
    rows, query = torch.arange(n_items), batch.query - start
    z = record.z[layer][:, :, start:]
    value = shared_out(record.value[layer], z.shape[1])
    weights = record.pattern[layer] * batch.source[:, None]
    from_source = torch.einsum("ihk,ihkd->ihd", weights, value)
    edited = z[:, None].repeat(1, n_variants, 1, 1, 1)
    edited[rows, :, :, query] -= zeroed[None, :, :, None] * from_source[:, None]
    # The intact rows go through the same computation, so that what turns nothing gives 0.
    both = torch.cat([z, edited.flatten(0, 1)])
    items = torch.cat([rows, rows.repeat_interleave(n_variants)])
    output = block_output(record, layer, both, items=items, start=start)
    intact, edited = output[:n_items], output[n_items:]
    after = edited.view(n_items, n_variants, *edited.shape[1:])[rows, :, query]
    return moved(intact[rows, query][:, None].expand_as(after), after)


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
