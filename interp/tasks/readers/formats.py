"""Which format a file is in: by the end of its name, then by its first line that says something."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from interp.items import Item, ScoringItem
from interp.tasks.lines import Line, text_lines
from interp.tasks.readers.blimp import read_blimp
from interp.tasks.readers.linzen import read_linzen
from interp.tasks.readers.own import read_own
from interp.tasks.readers.pronouns import read_pronouns
from interp.tasks.readers.reading import Reading, reading
from interp.tasks.readers.subjects import read_subjects
from interp.tasks.readers.winobias import read_winobias
from interp.tasks.readers.winogender import read_winogender, read_winogender_templates

SUFFIXES = (".jsonl", ".conllu", ".tsv", ".txt")
_N_SENTENCES = 3
_HEADERS: dict[str, tuple[str, Callable[[Path], Reading[ScoringItem]]]] = {
    "sentid": ("Winogender sentences", read_winogender),
    "occupation(0)": ("Winogender templates", read_winogender_templates),
    "orig_sentence": ("a table of subject and verb", read_linzen),
}


def read_file(path: Path, tokenizer: Any) -> tuple[str, Reading[Item] | Reading[ScoringItem]]:
    """The name of a file's format, and its items.

    - `.jsonl`: BLiMP, if its first object has the key `UID`; else people's own pairs.
    - `.conllu`: subjects; and, if a line has the annotation `Entity=`, pronouns with their
      antecedents, at most two sentences back.
    - `.tsv`: Winogender's sentences, its templates, or a table in the format of Linzen et al., by
      the column `sentid`, `occupation(0)` or `orig_sentence` of its header.
    - `.txt`: WinoBias.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: another ending or header, or a file that is not of its format; the message names
            the line.
    """
    match path.suffix:
        case ".jsonl" if _is_blimp(path):
            return "BLiMP", read_blimp(path, tokenizer)
        case ".jsonl":
            return "own pairs", read_own(path, tokenizer)
        case ".conllu":
            return _treebank(path)
        case ".tsv":
            return _table(path)
        case ".txt":
            return "WinoBias", read_winobias(path)
    raise ValueError(
        f"expected a file that ends in {', '.join(SUFFIXES)}, got {path}; the ending says how it "
        "is read."
    )


def _first_line(path: Path) -> Line:
    for line in text_lines(path):
        if line.value.strip():
            return line
    raise ValueError(f"{path} is empty.")


def _is_blimp(path: Path) -> bool:
    try:
        return "UID" in json.loads(_first_line(path).value)
    except (json.JSONDecodeError, TypeError):
        return False


def _treebank(path: Path) -> tuple[str, Reading[ScoringItem]]:
    subjects = read_subjects(path)
    if not any("Entity=" in line.value for line in text_lines(path)):
        return "a treebank (subjects)", subjects
    pronouns = read_pronouns(path, n_sentences=_N_SENTENCES)
    dropped = [
        (str(row.place), str(row.reason))
        for table in (subjects.dropped, pronouns.dropped)
        for row in table.itertuples()
    ]
    both = reading([*subjects.items, *pronouns.items], dropped)
    return "a treebank (subjects and antecedents)", both


def _table(path: Path) -> tuple[str, Reading[ScoringItem]]:
    header = _first_line(path)
    for column, (name, read) in _HEADERS.items():
        if column in header.value.split("\t"):
            return name, read(path)
    raise ValueError(
        f"{header.place}: expected a header with one of the columns {', '.join(_HEADERS)}, got "
        f"{', '.join(header.value.split(chr(9)))}."
    )
