"""Words and phrases of plain text, for files that do not divide it themselves."""

import re

from interp.items import Span


def words_of(text: str) -> tuple[Span, ...]:
    """Runs of letters and digits, with apostrophes and hyphens inside; other signs one by one."""
    return tuple(Span(*word.span()) for word in re.finditer(r"\w+(?:['’-]\w+)*|[^\w\s]", text))


def places_of(phrase: str, text: str) -> list[Span]:
    """Where a phrase stands in a text as whole words, in any case."""
    pattern = rf"(?<!\w){re.escape(phrase)}(?!\w)"
    return [Span(*found.span()) for found in re.finditer(pattern, text, re.IGNORECASE)]
