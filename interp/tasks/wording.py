"""A template and its words to a text, with the place of each word in it."""

from collections.abc import Mapping
from string import Formatter

from interp.items import Span


def fill(template: str, words: Mapping[str, str]) -> tuple[str, dict[str, tuple[Span, ...]]]:
    """The text with each `{slot}` replaced by its word, and where each slot's words stand.

    Raises:
        ValueError: the template has a slot for which there is no word.
    """
    text = ""
    places: dict[str, tuple[Span, ...]] = {}
    for literal, slot, _, _ in Formatter().parse(template):
        text += literal
        if slot is None:
            continue
        if slot not in words:
            raise ValueError(
                f'the template "{template}" has a slot {{{slot}}}, and the slots are '
                f"{', '.join(f'{{{known}}}' for known in words)}; correct the template."
            )
        places[slot] = (*places.get(slot, ()), Span(len(text), len(text) + len(words[slot])))
        text += words[slot]
    return text, places
