"""The lines of a text file, each with its place for messages: plain, JSON, or a table."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple


class Line(NamedTuple):
    """What a line holds, its number from 1, and its place as messages name it."""

    place: str
    number: int
    value: Any


def text_lines(path: Path | str) -> Iterator[Line]:
    """The lines of a UTF-8 file, empty ones too.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is not UTF-8 text, or it is a pickle, which is not read.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}; give the path of a text file.")
    content = path.read_bytes()
    if content.startswith(b"\x80") or path.suffix in (".pickle", ".pkl"):
        raise ValueError(
            f"{path} is a pickle, and to load one is to run the code in it; have it written as "
            "JSON Lines where its maker is trusted, and give that file."
        )
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        number = content[: error.start].count(b"\n") + 1
        raise ValueError(
            f"{path}, line {number}: expected UTF-8 text, got the byte "
            f"0x{content[error.start]:02x}; save the file as UTF-8."
        ) from error
    for number, line in enumerate(text.split("\n"), 1):
        yield Line(f"{path}, line {number}", number, line.removesuffix("\r"))


def json_lines(path: Path | str) -> Iterator[Line]:
    """The JSON value of each line that is not empty.

    Raises:
        ValueError: a line is not JSON; the message names it.
    """
    for line in text_lines(path):
        if line.value.strip():
            yield line._replace(value=json_value(line))


def json_value(line: Line) -> Any:
    """What a line says in JSON.

    Raises:
        ValueError: it is not JSON; the message names the line.
    """
    try:
        return json.loads(line.value)
    except json.JSONDecodeError as error:
        raise ValueError(
            f"{line.place}: expected one JSON object, got {error.msg} at column {error.colno}."
        ) from error


def table_lines(path: Path | str, *, columns: Sequence[str]) -> Iterator[Line]:
    """Each row of a tab-separated table with a header, as a dictionary from column to cell.

    Quotation marks are letters like others. There may be more columns than those asked for.

    Raises:
        ValueError: a column is missing, or a row has another number of cells than the header.
    """
    header: list[str] | None = None
    for line in text_lines(path):
        if not line.value.strip():
            continue
        cells = line.value.split("\t")
        if header is None:
            header = cells
            missing = [column for column in columns if column not in header]
            if missing:
                raise ValueError(
                    f'{line.place}: expected a header with the column "{missing[0]}", got '
                    f"{', '.join(header)}."
                )
        elif len(cells) != len(header):
            raise ValueError(
                f"{line.place}: expected {len(header)} cells, one for each column of the header, "
                f"got {len(cells)}."
            )
        else:
            yield line._replace(value=dict(zip(header, cells, strict=True)))
