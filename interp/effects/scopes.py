"""Where a head's output is replaced by its output in the counterfactual run."""

from enum import StrEnum

import torch
from jaxtyping import Float
from torch import Tensor

from interp.models.record import Record


class Scope(StrEnum):
    """The three tiers at which one head is removed, all by resample from the pair.

    `everywhere` replaces its output at every position, `query` only where the answer is read, and
    `edge` only what it takes there from the source: from the places that are the source in the
    item or in its counterfactual.
    """

    EVERYWHERE = "everywhere"
    QUERY = "query"
    EDGE = "edge"


def first_row(record: Record, scope: Scope, *, is_causal: bool) -> int:
    """The first row that an edit at this scope can change."""
    if not is_causal:
        return 0
    if scope is Scope.EVERYWHERE:
        return record.batch.first_difference
    return int(record.batch.query.min())


def edited_z(
    record: Record, scope: Scope, layer: int, *, start: int
) -> Float[Tensor, "item head row d_head"]:
    """What each head of a layer gives from row `start` on, were it the one that is removed.

    On the edge: `z + Σ (A′ v′ − A v)` at the query, over the keys of the edge, primes from the
    counterfactual run.
    """
    batch, z = record.batch, record.z[layer]
    if scope is Scope.EVERYWHERE:
        return z[batch.donor][:, :, start:]
    rows = torch.arange(len(batch))
    at_query = z[rows, :, batch.query]
    if scope is Scope.QUERY:
        replaced = at_query[batch.donor]
    else:
        taken = edge_contribution(record, layer)
        replaced = at_query + taken[batch.donor] - taken
    edited = z[:, :, start:].clone()
    edited[rows, :, batch.query - start] = replaced
    return edited


def edge_contribution(record: Record, layer: int) -> Float[Tensor, "item head d_head"]:
    """What each head takes at the query from the keys of the edge: `Σ A v`.

    An item and its counterfactual have the same edge, so the donor's row is what replaces it.
    """
    batch, pattern, value = record.batch, record.pattern[layer], record.value[layer]
    group_size = pattern.shape[1] // value.shape[1]
    weights = pattern * batch.edge[:, None, :]
    return torch.einsum("ihk,ihkd->ihd", weights, value.repeat_interleave(group_size, dim=1))
