"""Where a head is removed: at which positions, or over which edge."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import torch
from jaxtyping import Bool
from torch import Tensor

from interp.encode import Batch


class Scope(StrEnum):
    """Where a head's output is replaced.

    `everywhere` is every position, `query` only where the answer is read, `source` the tokens of
    the source. `edge` is only what the head takes at the query from the source: from the places
    that are the source in the item or in its counterfactual; `distractor_edge` is the same from
    the distractors.
    """

    EVERYWHERE = "everywhere"
    QUERY = "query"
    EDGE = "edge"
    SOURCE = "source"
    DISTRACTOR_EDGE = "distractor_edge"


TIERS = (Scope.EVERYWHERE, Scope.QUERY, Scope.EDGE)
"""The three tiers of every head's effect."""


@dataclass(frozen=True)
class Positions:
    """A scope of one's own: given positions.

    Attributes:
        name: as it stands in tables.
        of: `of(batch)` marks them, `[item, pos]`.
    """

    name: str
    of: Callable[[Batch], Tensor]

    def __str__(self) -> str:
        return self.name


AnyScope = Scope | Positions


def as_scope(scope: AnyScope | str) -> AnyScope:
    """A scope, also by its name.

    Raises:
        ValueError: there is none of that name.
    """
    if isinstance(scope, Scope | Positions):
        return scope
    if scope not in list(Scope):
        raise ValueError(f"there is no scope {scope!r}; there are {', '.join(Scope)}.")
    return Scope(scope)


def is_edge(scope: AnyScope) -> bool:
    """Whether only what is taken over an edge is replaced."""
    return scope in (Scope.EDGE, Scope.DISTRACTOR_EDGE)


def edited_positions(scope: AnyScope, batch: Batch) -> Bool[Tensor, "item pos"]:
    """The positions at which heads give something else.

    Raises:
        ValueError: an item has none, or positions of one's own are of another shape.
    """
    if scope is Scope.EVERYWHERE:
        return torch.ones_like(batch.ids, dtype=torch.bool)
    if scope is Scope.SOURCE:
        marked = batch.source
    elif isinstance(scope, Positions):
        marked = scope.of(batch)
    else:
        marked = torch.zeros_like(batch.ids, dtype=torch.bool)
        marked[torch.arange(len(batch)), batch.query] = True
    if marked.shape != batch.ids.shape or marked.dtype != torch.bool:
        raise ValueError(
            f"the positions {str(scope)!r} must be a boolean tensor of shape "
            f"{tuple(batch.ids.shape)}, got {marked.dtype} of shape {tuple(marked.shape)}."
        )
    _require(marked, batch, f"the scope {str(scope)!r}", "position")
    return marked


def edge_keys(scope: AnyScope, batch: Batch) -> Bool[Tensor, "item pos"]:
    """The keys of the edge: where the source, or a distractor, is in the item or its pair.

    A role flip moves the source from one slot to the other, and a head that follows it takes from
    the one what it gave to the other; replacing the first slot alone would show half.

    Raises:
        ValueError: an item has none, so that there is no edge.
    """
    if scope is Scope.EDGE:
        named, what = batch.source, "source"
    else:
        named, what = batch.distractor, "distractor"
    for item, has_key in zip(batch.items, named.any(1).tolist(), strict=True):
        if not has_key:
            raise ValueError(
                f"item {item.item_id} names no {what}, so it has no edge to measure; name one, "
                "or ask for scopes=[Scope.EVERYWHERE, Scope.QUERY]."
            )
    return named | named[batch.donor]


def _require(marked: Bool[Tensor, "item pos"], batch: Batch, where: str, what: str) -> None:
    for item, is_marked in zip(batch.items, marked.any(1).tolist(), strict=True):
        if not is_marked:
            raise ValueError(
                f"item {item.item_id} has no {what} in {where}, so nothing would be edited; "
                "leave the item or the scope out."
            )
