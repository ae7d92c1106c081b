"""Items of the three phenomena, made from lexicons and templates, and readers of people's own."""

from typing import Any

from interp.items import Corruption, Item
from interp.tasks import agreement, coreference, far, long_range
from interp.tasks.balance import MIN_PAIRS, balance, require_balance
from interp.tasks.check import check
from interp.tasks.family import Family, named
from interp.tasks.heuristics import heuristics
from interp.tasks.jsonl import pairs, read_pairs, write_pairs
from interp.tokens import text_ids

__all__ = [
    "NAMES",
    "balance",
    "build",
    "check",
    "families",
    "heuristics",
    "known_name",
    "pairs",
    "read_pairs",
    "write_pairs",
]

NAMES = ("agreement", "coreference", "long_range")
"""The phenomena."""

_FAMILIES: tuple[Family, ...] = (
    *agreement.FAMILIES,
    *coreference.FAMILIES,
    *long_range.FAMILIES,
    *far.FAMILIES,
)


def families(phenomenon: str = "") -> list[Family]:
    """The template families of a phenomenon, or all of them; the default mixes stand first."""
    return [
        family for family in _FAMILIES if family.name.split("/")[0] == phenomenon or not phenomenon
    ]


def known_name(name: str) -> None:
    """Nothing, when `build` knows the name.

    Raises:
        ValueError: it does not; the message names the nearest.
    """
    named(name, _FAMILIES)


def build(
    name: str, tokenizer: Any, *, n_pairs: int, seed: int, corruption: Corruption | None = None
) -> list[Item]:
    """Items of a phenomenon or of one family, both directions of `n_pairs` pairs.

    The same seed gives the same items on every machine. In a role flip, clean and corrupt differ
    in one token, which moves the source from one slot to the other while both slots keep their
    words and places. Half of the pairs are for discovery and half for confirmation, and from 64
    pairs on the items are held to every rule of `balance`.

    Args:
        name: a phenomenon, which is a mix of its role flips, or a family such as
            `"agreement/simple"` (see `families`).
        tokenizer: a fast tokenizer of transformers. Words that it cuts are left out.
        corruption: one of the family's; its first when None.

    Raises:
        ValueError: there is no such family, it has no such corruption, `n_pairs` is not positive,
            the tokenizer leaves too few words, an item does not pass `check`, or the items of a
            family are not balanced.
    """
    family = named(name, _FAMILIES)
    corruption = family.corruptions[0] if corruption is None else Corruption(corruption)
    if corruption not in family.corruptions:
        raise ValueError(
            f'"{name}" can be corrupted by {", ".join(family.corruptions)}, got "{corruption}".'
        )
    if n_pairs < 1:
        raise ValueError(f"n_pairs must be at least 1, got {n_pairs}.")
    items = family.generate(tokenizer, n_pairs, seed, corruption)
    for item in items:
        check(item, tokenizer)
        if corruption is Corruption.ROLE_FLIP:
            _check_one_word_flip(item, tokenizer)
    if n_pairs >= MIN_PAIRS:
        require_balance(items, tokenizer)
    return items


def _check_one_word_flip(item: Item, tokenizer: Any) -> None:
    clean, corrupt = (text_ids(text, tokenizer) for text in (item.clean_text, item.corrupt_text))
    n_different = sum(one != other for one, other in zip(clean, corrupt, strict=True))
    if n_different != 1:
        raise ValueError(
            f'item "{item.item_id}": clean and corrupt must differ in exactly one token, got '
            f"{n_different}; correct the wording in data."
        )
