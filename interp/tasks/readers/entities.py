"""GUM's `Entity=`: mentions of entities as nested brackets, with the words that head them."""

import re
from dataclasses import dataclass

from interp.tasks.readers.treebank import Sentence, Word

_BRACKETS = re.compile(r"\((?P<opened>[^()]+)(?P<alone>\))?|(?P<closed>[^()]+)\)")


@dataclass(frozen=True, kw_only=True)
class Mention:
    """A mention in a sentence: its entity, its words `start` to `end` (excluded), and its head."""

    entity: str
    start: int
    end: int
    head: int


def mentions(sentence: Sentence) -> list[Mention]:
    """The mentions of a sentence, in the order in which they begin, wider ones first.

    The head is the word of the annotated minimal span that depends on no other word of it.

    Raises:
        ValueError: the file declares no `global.Entity`, or brackets are not well formed; the
            message names the line.
    """
    columns = sentence.entity_columns
    if "GRP" not in columns or "minspan" not in columns:
        raise ValueError(
            f'{sentence.words[0].place}: expected a comment "# global.Entity = GRP-…-minspan-…" '
            "above the first sentence, which says how entities are written; give a file with GUM's "
            "annotation of entities."
        )
    found: list[Mention] = []
    opened: list[tuple[str, int, str]] = []
    for index, word in enumerate(sentence.words):
        value = word.misc.get("Entity", "")
        if re.sub(_BRACKETS, "", value):
            raise _malformed(word, f'brackets such as "(1-person-…)", got "{value}"')
        for bracket in _BRACKETS.finditer(value):
            entity = bracket["closed"]
            if bracket["opened"]:
                parts = bracket["opened"].split("-", len(columns) - 1)
                if len(parts) <= columns.index("minspan"):
                    raise _malformed(word, f'{"-".join(columns)}, got "{bracket["opened"]}"')
                entity = parts[columns.index("GRP")]
                opened.append((entity, index, parts[columns.index("minspan")]))
            if bracket["alone"] or bracket["closed"]:
                last = next((entry for entry in reversed(opened) if entry[0] == entity), None)
                if last is None:
                    raise _malformed(word, f'an open mention "({entity}-…" to close, got none')
                opened.remove(last)
                found.append(_mention(sentence, *last, end=index + 1))
    if opened:
        entity, start, _ = opened[-1]
        word = sentence.words[start]
        raise _malformed(word, f'"{entity})" at or after this word in the sentence, got none')
    return sorted(found, key=lambda mention: (mention.start, -mention.end))


def _mention(sentence: Sentence, entity: str, start: int, minspan: str, *, end: int) -> Mention:
    numbers = minspan.split(",")
    if not all(number.isdecimal() and 1 <= int(number) <= end - start for number in numbers):
        raise _malformed(
            sentence.words[start],
            f'a minimal span of words 1 to {end - start} of the mention, got "{minspan}"',
        )
    words = [start + int(number) - 1 for number in numbers]
    head = next((index for index in words if sentence.words[index].head not in words), words[0])
    return Mention(entity=entity, start=start, end=end, head=head)


def _malformed(word: Word, expected: str) -> ValueError:
    return ValueError(f'{word.place}: field "misc", Entity of "{word.form}": expected {expected}.')
