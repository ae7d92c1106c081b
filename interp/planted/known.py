"""What is known of a planted model: its heads, in numbers derived by hand."""

from collections.abc import Callable
from dataclasses import dataclass

from interp.heads import Head
from interp.items import Item
from interp.planted.families import Files

ON_EDGE = "attends and matters on that edge"
ELSEWHERE = "attends and matters, elsewhere"
NO_EFFECT = "attends, no effect seen"
SILENT = "matters, does not attend"
NEITHER = "neither"


@dataclass(frozen=True, kw_only=True)
class Known:
    """What a head does on its model's items. Effects are in logits, positive: the head helps.

    None stands where nothing is claimed.

    Attributes:
        role: in a few words.
        attention: to the source, mean over items.
        cas: counterfactual attention selectivity, undefined where the source does not move.
        everywhere, query, edge: effect when the head's output is that of the paired prompt.
        zero, mean: effect when it is nothing, or its mean over items at each position.
        direct: what the head adds to the logit difference by itself.
        norm: length of what it brings from the source, in models whose stream has no balance.
        reading: how the contrast of attention and effects reads it.
    """

    role: str
    attention: float | None = 0.0
    cas: float | None = 0.0
    everywhere: float = 0.0
    query: float = 0.0
    edge: float = 0.0
    zero: float = 0.0
    mean: float = 0.0
    direct: float | None = 0.0
    norm: float | None = None
    reading: str | None = NEITHER


RESTS = Known(role="rests")
RESTS_UNMOVED = Known(role="rests", cas=None)
"""A head that rests, on items whose source does not move."""


@dataclass(frozen=True, kw_only=True)
class Planted:
    """A model with known heads, and the items on which they are known.

    Attributes:
        description: what is planted, in a sentence.
        files: weights and configuration.
        known: by head.
        rests: what is known of all other heads.
        tolerance: how near to `known` exact measurements come.
    """

    description: str
    files: Files
    items: tuple[Item, ...]
    known: dict[Head, Known]
    rests: Known = RESTS
    tolerance: float = 1e-5


Builder = Callable[[], Planted]


def consistent(role: str, *, size: float = 1.0, norm: float | None = None) -> Known:
    """A head that attends to the source and copies `size` of it to the logits."""
    return Known(
        role=role,
        attention=1.0,
        cas=1.0,
        everywhere=2 * size,
        query=2 * size,
        edge=2 * size,
        zero=size,
        mean=size,
        direct=size,
        norm=norm,
        reading=ON_EDGE,
    )
