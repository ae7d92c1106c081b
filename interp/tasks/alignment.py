"""Where a place of one text stands in another that differs from it in one stretch."""

import re
from itertools import takewhile

from interp.items import Span


def carried(span: Span, clean: str, corrupt: str) -> tuple[Span | None, bool]:
    """The same place in the corrupt text, and whether its words are unchanged there.

    The texts are compared word by word from both ends; what lies between has changed. A span that
    begins or ends within the change has no place in the corrupt text.
    """
    old, new = (re.findall(r"\w+|\W", text) for text in (clean, corrupt))
    n_before = _n_shared(old, new)
    n_after = _n_shared(old[n_before:][::-1], new[n_before:][::-1])
    changed = old[n_before : len(old) - n_after]
    start = sum(map(len, old[:n_before]))
    change = Span(start, start + sum(map(len, changed)))
    shift = len(corrupt) - len(clean)
    if span.end <= change.start:
        return span, True
    if span.start >= change.end:
        return Span(span.start + shift, span.end + shift), True
    if span.start <= change.start and change.end <= span.end:
        return Span(span.start, span.end + shift), False
    return None, False


def _n_shared(first: list[str], second: list[str]) -> int:
    """How many pieces two lists share from their beginning."""
    same = (a == b for a, b in zip(first, second, strict=False))
    return sum(1 for _ in takewhile(bool, same))
