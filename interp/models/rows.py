"""Rows of a layer that are run together, and the attention between them.

Rows are nodes of a forest. Those that are computed again bring keys and values of their own, one
set for each variant; all others answer with those of the intact run, which all variants share.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from interp.models.plain import Call, attend
from interp.models.template import Template


class Stored(NamedTuple):
    """One layer's keys and values in the intact run."""

    key: Float[Tensor, "node kv_head d_head"]
    value: Float[Tensor, "node kv_head d_head"]


class Over(NamedTuple):
    """Some keys of each row, and what becomes of them.

    Attributes:
        keys: positions of the text; those that a row cannot see do not count.
        is_closed: z is what the row gathers with these keys closed, the rest renormalised;
            otherwise z is the part that it gathers from them.
    """

    keys: Bool[Tensor, "row pos"]
    is_closed: bool


@runtime_checkable
class Rows(Protocol):
    """Rows of a forest that are run together, as one sequence or several."""

    @property
    def nodes(self) -> Int[Tensor, " row"]:
        """Which nodes they are."""
        ...

    @property
    def positions(self) -> Int[Tensor, " row_of_lane"] | None:
        """At which position each row of a sequence stands; None for 0, 1, 2 …"""
        ...

    @property
    def n_lanes(self) -> int:
        """How many sequences."""
        ...

    def gathered(self, stored: Stored | None) -> list[Stored]:
        """What these rows need of the intact run; made once a layer, for all variants."""
        ...

    def attend(
        self, call: Call, template: Template, stored: list[Stored], over: Over | None = None
    ) -> Float[Tensor, "lane head row_of_lane d_head"]:
        """z of all rows of all variants, or what `over` asks for instead."""
        ...


@dataclass(frozen=True, eq=False, kw_only=True)
class WholeItems:
    """All positions of all items, each item by itself: what any model takes."""

    nodes: Int[Tensor, " row"]
    n_lanes: int
    positions: None = None

    def gathered(self, stored: Stored | None) -> list[Stored]:
        """Nothing: every row is computed again."""
        return []

    def attend(
        self, call: Call, template: Template, stored: list[Stored], over: Over | None = None
    ) -> Float[Tensor, "lane head row_of_lane d_head"]:
        """z as the model itself computes it, or what `over` asks for instead."""
        options = template.options[call.layer]
        if over is None:
            return attend(replace(call, options=options))
        keys = over.keys.view(self.n_lanes, 1, -1, over.keys.shape[1])
        keys = keys.repeat(len(call.query) // self.n_lanes, 1, 1, 1)
        point, instead = ("scores", -torch.inf) if over.is_closed else ("pattern", 0.0)
        kept = ~keys if over.is_closed else keys

        def only(name: str, tensor: Tensor) -> Tensor:
            return torch.where(kept, tensor, instead) if name == point else tensor

        return attend(replace(call, options={**options, "hook": only}))


def as_lanes(
    hidden: Float[Tensor, "variant row d_model"], rows: Rows
) -> Float[Tensor, "lane row_of_lane d_model"]:
    """Variants side by side, each as the sequences that its rows are run as."""
    return hidden.reshape(len(hidden) * rows.n_lanes, -1, hidden.shape[-1])


def by_row(
    z: Float[Tensor, "lane head row_of_lane d_head"], rows: Rows
) -> Float[Tensor, "variant row head d_head"]:
    """The same, rows of all lanes in one axis."""
    n_lanes, n_heads, _, d_head = z.shape
    return z.transpose(1, 2).reshape(n_lanes // rows.n_lanes, -1, n_heads, d_head)


def by_lane(
    z: Float[Tensor, "variant row head d_head"], rows: Rows
) -> Float[Tensor, "lane head row_of_lane d_head"]:
    """The inverse of `by_row`."""
    n_variants, _, n_heads, d_head = z.shape
    return z.reshape(n_variants * rows.n_lanes, -1, n_heads, d_head).transpose(1, 2)
