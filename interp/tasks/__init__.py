"""Items of the three phenomena, made from lexicons and templates, and readers of people's own."""

from typing import Any

from interp.heads import nearest_name
from interp.items import Item
from interp.tasks import agreement, coreference, long_range
from interp.tasks.check import check
from interp.tasks.jsonl import pairs, read_pairs
from interp.tokens import text_tokens

__all__ = ["NAMES", "build", "check", "pairs", "read_pairs"]

_GENERATORS = {
    "agreement": agreement.generate,
    "coreference": coreference.generate,
    "long_range": long_range.generate,
}

NAMES = tuple(_GENERATORS)
"""The phenomena that `build` knows."""


def build(name: str, tokenizer: Any, *, n_pairs: int, seed: int) -> list[Item]:
    """The items of a phenomenon, both directions of `n_pairs` pairs, the same for the same seed.

    Clean and corrupt differ in one token, which moves the source from one slot to the other while
    both slots keep their words and places.

    Args:
        tokenizer: a fast tokenizer of transformers. Words that it cuts are left out.

    Raises:
        ValueError: there is no such phenomenon, `n_pairs` is not positive, the tokenizer leaves too
            few words, or an item does not pass `check`.
    """
    if name not in _GENERATORS:
        nearest = nearest_name(name, NAMES)
        hint = f'; did you mean "{nearest}"?' if nearest else "."
        raise ValueError(f'expected one of {", ".join(NAMES)}, got "{name}"{hint}')
    if n_pairs < 1:
        raise ValueError(f"n_pairs must be at least 1, got {n_pairs}.")
    items = _GENERATORS[name](tokenizer, n_pairs=n_pairs, seed=seed)
    for item in items:
        check(item, tokenizer)
        _check_one_word_flip(item, tokenizer)
    return items


def _check_one_word_flip(item: Item, tokenizer: Any) -> None:
    clean, corrupt = (
        text_tokens(text, tokenizer)[0] for text in (item.clean_text, item.corrupt_text)
    )
    n_different = sum(one != other for one, other in zip(clean, corrupt, strict=True))
    if n_different != 1:
        raise ValueError(
            f'item "{item.item_id}": clean and corrupt must differ in exactly one token, got '
            f"{n_different}; correct the wording in data."
        )
