"""CoNLL-U: sentences, their words with places in the text, and who depends on whom."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import conllu

from interp.items import Span
from interp.tasks.lines import Line, text_lines

NOMINAL = ("NOUN", "PROPN", "PRON")

_N_FIELDS = 10


@dataclass(frozen=True, kw_only=True)
class Word:
    """A syntactic word.

    Attributes:
        place: file and line.
        span: its characters in the sentence; those of the whole contraction where its form is not
            a part of it.
        head: the index of the word it depends on, or None for the root.
        relation: the name of that dependency, subtype included.
        features, misc: columns 6 and 10, as key and value; a value "_" is empty.
    """

    place: str
    span: Span
    form: str
    upos: str
    head: int | None
    relation: str
    features: dict[str, str]
    misc: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class Sentence:
    """A sentence of a treebank; `entity_columns` are what `global.Entity` declares, if anything."""

    sent_id: str
    document: str
    entity_columns: tuple[str, ...]
    text: str
    words: tuple[Word, ...]


def read_sentences(path: Path | str) -> Iterator[Sentence]:
    """The sentences of a CoNLL-U file. Empty nodes are left out.

    Raises:
        ValueError: a line is not of the format, a sentence has no `# text` or `# sent_id`, or its
            words do not make its text; the message names the line and the field.
    """
    document = Path(path).stem
    entity_columns: tuple[str, ...] = ()
    for block in _blocks(path):
        comments = {
            key.strip(): value.strip()
            for line in block
            if line.value.startswith("#")
            for key, _, value in [line.value[1:].partition("=")]
        }
        document = comments.get("newdoc id", document)
        if "global.Entity" in comments:
            entity_columns = tuple(comments["global.Entity"].split("-"))
        for field in ("sent_id", "text"):
            if field not in comments:
                raise ValueError(
                    f'{block[0].place}: expected a comment "# {field} = …" above the sentence, '
                    "got none; add it."
                )
        rows = [(line, _token(line)) for line in block if not line.value.startswith("#")]
        yield Sentence(
            sent_id=comments["sent_id"],
            document=document,
            entity_columns=entity_columns,
            text=comments["text"],
            words=tuple(_words(rows, comments["text"])),
        )


def _blocks(path: Path | str) -> Iterator[list[Line]]:
    block: list[Line] = []
    for line in text_lines(path):
        if line.value.strip():
            block.append(line)
        elif block:
            yield block
            block = []
    if block:
        yield block


def _token(line: Line) -> conllu.Token:
    n_fields = len(line.value.split("\t"))
    if n_fields != _N_FIELDS:
        raise ValueError(
            f"{line.place}: expected {_N_FIELDS} fields with tabs between, got {n_fields}."
        )
    try:
        (sentence,) = conllu.parse(line.value)
    except conllu.exceptions.ParseException as error:
        raise ValueError(f"{line.place}: {error}") from error
    return sentence[0]


def _words(rows: list[tuple[Line, conllu.Token]], text: str) -> Iterator[Word]:
    """The words in order, each found in the text after the one before it."""
    n_words = sum(isinstance(token["id"], int) for _, token in rows)
    end = 0
    contraction, last_inside = Span(0, 0), 0
    n_read = 0
    for line, token in rows:
        match token["id"]:
            case (_, ".", _):
                continue
            case (_, "-", last):
                contraction, last_inside = _next(line, token["form"], text, end), last
                continue
        n_read += 1
        if token["id"] != n_read:
            raise ValueError(
                f'{line.place}: field "id": expected the number {n_read}, got "{token["id"]}".'
            )
        if n_read <= last_inside:
            start = text.find(token["form"], end, contraction.end)
            is_part = start >= 0
            span = Span(start, start + len(token["form"])) if is_part else contraction
            end = contraction.end if n_read == last_inside or not is_part else span.end
        else:
            span = _next(line, token["form"], text, end)
            end = span.end
        yield Word(
            place=line.place,
            span=span,
            form=token["form"],
            upos=token["upos"],
            head=_head(line, token["head"], n_words),
            relation=token["deprel"],
            features=_filled(token["feats"]),
            misc=_filled(token["misc"]),
        )


def _filled(column: dict[str, str | None] | None) -> dict[str, str]:
    """A column of keys and values, empty where the file has "_"."""
    return {key: value or "" for key, value in (column or {}).items()}


def _next(line: Line, form: str, text: str, after: int) -> Span:
    """The place of a word that comes next in a text, with nothing but space before it."""
    start = text.find(form, after)
    if start < 0 or text[after:start].strip():
        raise ValueError(
            f'{line.place}: field "form": expected the next word of "# text = {text}", from '
            f'character {after} on, got "{form}".'
        )
    return Span(start, start + len(form))


def _head(line: Line, head: int | None, n_words: int) -> int | None:
    if head is None or not 0 <= head <= n_words:
        raise ValueError(
            f'{line.place}: field "head": expected a word of the sentence, 0 to {n_words}, got '
            f'"{"_" if head is None else head}".'
        )
    return head - 1 if head else None
