"""Attention between words: what the tokens of a word receive and give, put together."""

from collections.abc import Sequence
from typing import Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor

QueryAggregate = Literal["mean", "first", "last", "max"]


def word_pattern(
    pattern: Float[Tensor, "*batch query key"],
    groups: Sequence[Sequence[int]],
    *,
    query_aggregate: QueryAggregate,
) -> Float[Tensor, "*batch word_query word_key"]:
    """A pattern between groups of tokens, such as `interp.words.word_groups` gives.

    A word receives the sum of what its tokens receive. What it gives is the mean of its tokens'
    rows, the row of the first or the last, or their greatest values scaled back to the mass of the
    mean. In a causal model only the last token has seen the whole word. Rows have the mass that
    token rows have: 1, or less with learned sinks.

    Raises:
        ValueError: the groups do not hold each position once, or the aggregate is unknown.

    Source: section 4.1 of Clark et al. 2019, arXiv:1906.04341, which describes the mean; the
    authors' function takes the first by default. They scale the greatest values to sum to 1.
    """
    if query_aggregate not in get_args(QueryAggregate):
        raise ValueError(
            f"expected a query aggregate among {', '.join(get_args(QueryAggregate))}, got "
            f"{query_aggregate!r}."
        )
    n_positions = pattern.shape[-1]
    places = sorted(place for group in groups for place in group)
    if places != list(range(n_positions)) or not all(groups):
        raise ValueError(
            f"groups must hold each of the {n_positions} positions once and none be empty, so that "
            "no attention is lost or counted twice; make them with `word_groups`."
        )
    received = torch.stack([pattern[..., list(group)].sum(-1) for group in groups], dim=-1)
    rows = [received[..., list(group), :] for group in groups]
    mean = torch.stack([row.mean(-2) for row in rows], dim=-2)
    match query_aggregate:
        case "mean":
            given = mean
        case "first":
            given = torch.stack([row[..., 0, :] for row in rows], dim=-2)
        case "last":
            given = torch.stack([row[..., -1, :] for row in rows], dim=-2)
        case "max":
            greatest = torch.stack([row.amax(-2) for row in rows], dim=-2)
            mass = greatest.sum(-1, keepdim=True)
            given = greatest * (mean.sum(-1, keepdim=True) / mass).nan_to_num()
    return given
