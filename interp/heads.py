"""Names of heads: one type, one spelling, one order."""

import difflib
import re
from collections.abc import Iterable
from typing import NamedTuple

_SPELLINGS = re.compile(
    r"L(?P<layer>\d+)H(?P<head>\d+)|(?P<layer_>\d+)\.(?P<head_>\d+)", re.IGNORECASE
)


class Head(NamedTuple):
    """One attention head, both indices counted from 0. Sorts by layer, then head."""

    layer: int
    head: int

    @property
    def label(self) -> str:
        """The head as it is printed everywhere: `L27H0`."""
        return f"L{self.layer}H{self.head}"


def parse_head(text: str, *, n_layers: int, n_heads: int) -> Head:
    """The head that `"L27H0"` or `"27.0"` names.

    Raises:
        ValueError: the text is no head's name, or the model has no such head.
    """
    match = _SPELLINGS.fullmatch(text.strip())
    if match is None:
        raise ValueError(f'expected a head such as "L3H5" or "3.5", got {text!r}.')
    head = Head(
        int(match["layer"] or match["layer_"] or 0), int(match["head"] or match["head_"] or 0)
    )
    if head.layer >= n_layers or head.head >= n_heads:
        nearest = Head(min(head.layer, n_layers - 1), min(head.head, n_heads - 1))
        raise ValueError(
            f"there is no head {head.label}: this model has layers 0 to {n_layers - 1} "
            f"with heads 0 to {n_heads - 1}; the nearest is {nearest.label}."
        )
    return head


def all_heads(n_layers: int, n_heads: int) -> list[Head]:
    """Every head of a model, in order."""
    return [Head(layer, head) for layer in range(n_layers) for head in range(n_heads)]


def nearest_name(name: str, names: Iterable[str]) -> str | None:
    """The name most like a misspelt one, or None when nothing is near."""
    matches = difflib.get_close_matches(name.lower(), list(names), n=1, cutoff=0.5)
    return matches[0] if matches else None
