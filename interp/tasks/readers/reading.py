"""What a reader returns: the items it kept, and what it left out with the reason."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

import pandas as pd

from interp.items import Item, ScoringItem

ItemType = TypeVar("ItemType", Item, ScoringItem)


@dataclass(frozen=True, kw_only=True)
class Reading(Generic[ItemType]):
    """The items of a file.

    Attributes:
        items: in the order of the file.
        dropped: one row for each thing left out: its `place` (file and line, and what it is where
            a line gives several items) and the `reason`.
    """

    items: tuple[ItemType, ...]
    dropped: pd.DataFrame


def reading(items: Iterable[ItemType], dropped: Iterable[tuple[str, str]]) -> Reading[ItemType]:
    """A reading from its items and from pairs of place and reason."""
    table = pd.DataFrame(list(dropped), columns=["place", "reason"], dtype="str")
    return Reading(items=tuple(items), dropped=table)
