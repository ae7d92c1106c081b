"""People's own pairs, line by line: what is good is kept, what is wrong is said."""

from pathlib import Path
from typing import Any

from interp.items import Item
from interp.tasks.jsonl import read_pair
from interp.tasks.lines import json_value, text_lines
from interp.tasks.readers.reading import Reading, reading


def read_own(path: Path | str, tokenizer: Any) -> Reading[Item]:
    """Both directions of every good pair of a file that `interp.tasks.read_pairs` takes.

    Where that stops at the first wrong line, this goes on, and each wrong line is a row of what was
    dropped, with the first thing that is wrong in it.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is not UTF-8 text.
    """
    items: list[Item] = []
    dropped: list[tuple[str, str]] = []
    seen: dict[str, str] = {}
    for line in text_lines(path):
        if not line.value.strip():
            continue
        try:
            items += read_pair(line.place, line.number, json_value(line), seen, tokenizer)
        except ValueError as error:
            dropped.append((line.place, str(error).removeprefix(f"{line.place}: ")))
    return reading(items, dropped)
