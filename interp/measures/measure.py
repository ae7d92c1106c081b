"""What a measure is: a kernel that gives a number for every item and head, and what it declares."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from interp.models.record import Record

Kernel = Callable[[Record], Tensor]
"""`kernel(record)` gives float32 `[item, layer, head]`, NaN where it is undefined."""


@dataclass(frozen=True, kw_only=True)
class Measure:
    """One measure of what attention says, from the query to the source of an item.

    Attributes:
        name: as it stands in tables.
        of: its kernel. In a family that has no such number it raises `UndefinedError`, which says
            why.
        league: what it knows beside the pattern: nothing, the values too, or the metric too.
        unit: what it counts, and its range.
        chance: what it gives for a head without a role: `"even"`, what attention spread evenly over
            the keys that are no sink gives; `"zero"`; or `"none"`, when there is no such level.
        formula: in a line. A is the pattern, q the query, v values, f = v·W_O.
        source: who proposed it.
        of_layer: whether it is one number for all heads of a layer, repeated for each.
    """

    name: str
    of: Kernel
    league: Literal["pattern only", "value-aware", "metric-aware"]
    unit: str
    chance: Literal["even", "zero", "none"]
    formula: str
    source: str
    of_layer: bool = False


def mass(
    pattern: Float[Tensor, "item layer head key"], places: Bool[Tensor, "item key"]
) -> Float[Tensor, "item layer head"]:
    """What falls on some places, summed."""
    return (pattern * places[:, None, None, :]).sum(-1)


def where(
    defined: Bool[Tensor, " item"], values: Float[Tensor, "item layer head"]
) -> Float[Tensor, "item layer head"]:
    """The values in float32, NaN for items on which they are not defined."""
    return torch.where(defined[:, None, None], values.float(), torch.nan)


def at_source(
    record: Record, by_layer: list[Float[Tensor, "item head key"]]
) -> Float[Tensor, "item layer head"]:
    """What falls on the source, layer by layer; undefined for items without a source."""
    source = record.batch.source
    return where(source.any(1), mass(torch.stack(by_layer, dim=1), source))


def repeated(
    of_layers: Float[Tensor, "item layer"], n_heads: int
) -> Float[Tensor, "item layer head"]:
    """One number a layer, for each of its heads."""
    return of_layers[:, :, None].expand(-1, -1, n_heads).float()
