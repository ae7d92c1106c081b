"""What a phenomenon's items can be: its template families, by name."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from interp.heads import nearest_name
from interp.items import Corruption, Item

Generate = Callable[[Any, int, int, Corruption], list[Item]]
"""`generate(tokenizer, n_pairs, seed, corruption)`: both directions of `n_pairs` pairs."""


@dataclass(frozen=True, kw_only=True)
class Family:
    """Wordings of one construction, and how their counterfactuals can differ.

    Attributes:
        name: such as `"agreement"` (its default mix) or `"agreement/simple"`.
        corruptions: those it can be built with, the default first.
        generate: makes its items.
    """

    name: str
    corruptions: tuple[Corruption, ...]
    generate: Generate


def named(name: str, families: Sequence[Family]) -> Family:
    """The family of that name.

    Raises:
        ValueError: there is none; the message names the nearest.
    """
    by_name = {family.name: family for family in families}
    if name not in by_name:
        nearest = nearest_name(name, tuple(by_name))
        phenomena = ", ".join(dict.fromkeys(known.split("/")[0] for known in by_name))
        hint = f'; did you mean "{nearest}"?' if nearest else "."
        raise ValueError(
            f'expected one of {phenomena}, or a family such as "agreement/simple", '
            f'got "{name}"{hint}'
        )
    return by_name[name]
