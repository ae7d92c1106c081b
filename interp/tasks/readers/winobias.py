"""WinoBias: brackets around a pronoun and whom it means; the other person is found by name."""

import re
from pathlib import Path

from interp.items import ScoringItem, Span
from interp.tasks.lines import Line, text_lines
from interp.tasks.readers.plain import places_of, words_of
from interp.tasks.readers.reading import Reading, reading

_FEMININE = frozenset(("she", "her", "hers", "herself"))
_PRONOUNS = _FEMININE | {"he", "him", "his", "himself"}


def read_winobias(path: Path | str) -> Reading[ScoringItem]:
    """One item a line: attention from the bracketed pronoun to the bracketed person it means.

    A number at the beginning of a line is not part of its text. Where two pronouns are in brackets
    the first is the query. Distractors are the persons that the file has in brackets elsewhere and
    this line names without; a line that names no other has none. The two people of a line, in any
    order, form a cluster.

    Raises:
        ValueError: a bracket is not closed, or not open; the message names the line.

    Source: Zhao et al. 2018, arXiv:1804.06876.
    """
    lines = [line for line in text_lines(path) if line.value.strip()]
    marked = [(line, *_marked(line)) for line in lines]
    people = {
        _person(text[span.start : span.end])
        for _, text, spans in marked
        for span in spans
        if text[span.start : span.end].casefold() not in _PRONOUNS
    }
    items: list[ScoringItem] = []
    dropped: list[tuple[str, str]] = []
    for line, text, spans in marked:
        item = _item(f"{Path(path).name}.{line.number}", text, spans, people)
        if isinstance(item, str):
            dropped.append((line.place, item))
        else:
            items.append(item)
    return reading(items, dropped)


def _marked(line: Line) -> tuple[str, list[Span]]:
    """The text of a line without its number and brackets, and what was in brackets."""
    text = ""
    spans: list[Span] = []
    start: int | None = None
    for piece in re.split(r"([\[\]])", re.sub(r"^\s*\d+\s+", "", line.value).strip()):
        if piece == "[" and start is None:
            start = len(text)
        elif piece == "]" and start is not None:
            spans.append(Span(start, len(text)))
            start = None
        elif piece in ("[", "]"):
            raise ValueError(
                f'{line.place}: expected each "[" to be closed by a "]" before the next, got '
                f'"{line.value}".'
            )
        else:
            text += piece
    if start is not None:
        raise ValueError(f'{line.place}: expected a "]" after the last "[", got "{line.value}".')
    return text, spans


def _item(item_id: str, text: str, spans: list[Span], people: set[str]) -> ScoringItem | str:
    """The item of a line, or why there is none."""
    pronouns = [span for span in spans if text[span.start : span.end].casefold() in _PRONOUNS]
    mentions = [span for span in spans if span not in pronouns]
    if not pronouns:
        return "no pronoun in brackets"
    if len(mentions) != 1:
        return f"expected one person in brackets, got {len(mentions)}"
    mention, query = mentions[0], pronouns[0]
    meant = _person(text[mention.start : mention.end])
    others = {person: places_of(person, text) for person in people - {meant}}
    named = sorted(person for person, places in others.items() if places)
    gender = "feminine" if text[query.start : query.end].casefold() in _FEMININE else "masculine"
    return ScoringItem(
        item_id=item_id,
        task="winobias",
        clusters=(f"people:{' and '.join(sorted([meant, *named]))}",),
        text=text,
        words=words_of(text),
        query=query,
        source=tuple(places_of(meant, text[: mention.end])[-1:]),
        distractors=tuple(sorted(place for person in named for place in others[person])),
        labels={"gender": gender},
    )


def _person(mention: str) -> str:
    """A mention without its article."""
    return re.sub(r"^(?:the|an?)\s+", "", mention.strip(), flags=re.IGNORECASE).casefold()
