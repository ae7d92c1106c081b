"""Which characters of a text each token stands for, found by decoding: offsets can be wrong.

Tokens are read one after the other and matched with the text, letter by letter. What tokenizers
change on the way is allowed for: case, accents, compatibility forms, spaces, and invisible
characters that some of them drop.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple
from unicodedata import category, normalize

from interp.items import Span


class _Letter(NamedTuple):
    """A letter as it is compared, and the character of the text that it comes from."""

    letter: str
    place: int

    @property
    def is_droppable(self) -> bool:
        """Whether a tokenizer may have left it out: accents, controls, invisible characters."""
        return category(self.letter)[0] == "C" or category(self.letter) == "Mn"


class _Reading(NamedTuple):
    """One way to read some tokens: the next token, the next letter, the characters between."""

    token: int
    letter: int
    place: Span


def token_places(ids: Sequence[int], text: str, tokenizer: Any) -> list[Span]:
    """The characters that each token of a text stands for.

    Tokens that make a character together, as those of an emoji do, all stand for all of it. A token
    of spaces stands for nothing and has an empty span. An unknown-word token stands for what is
    left between its neighbours, within one stretch without spaces.

    Raises:
        ValueError: the tokens, decoded, do not give the text; the message says from where on.
    """
    letters = _letters(text)
    decoded = cache(lambda some: tuple(_letters(tokenizer.decode(list(some)))))

    def readings(path: list[_Reading]) -> Iterator[_Reading]:
        token, letter = path[-1].token, path[-1].letter
        if token == len(ids):
            return iter(())
        if ids[token] == tokenizer.unk_token_id:
            return _unknown(token, letter, letters, text)
        before = tuple(ids[path[-2].token : token]) if len(path) > 1 else ()
        return _known(ids, token, before, decoded, letter, letters)

    path = [_Reading(0, 0, Span(0, 0))]
    open_ways = [readings(path)]
    dead: set[tuple[int, int]] = set()
    furthest = path[0]
    while path[-1].token < len(ids) or _next_needed(letters, path[-1].letter) < len(letters):
        way = next(open_ways[-1], None)
        if way is None:
            dead.add(path.pop()[:2])
            open_ways.pop()
            if not path:
                raise ValueError(_mismatch(text, furthest, ids, tokenizer))
        elif way[:2] not in dead:
            path.append(way)
            open_ways.append(readings(path))
            furthest = max(furthest, way)
    return [
        reading.place
        for before, reading in pairwise(path)
        for _ in range(before.token, reading.token)
    ]


def plain_letters(text: str) -> str:
    """A text as any tokenizer leaves it: no case, accents, spaces or invisible characters."""
    return "".join(letter.letter for letter in _letters(text) if not letter.is_droppable)


def _known(
    ids: Sequence[int],
    token: int,
    before: tuple[int, ...],
    decoded: Callable[[tuple[int, ...]], tuple[_Letter, ...]],
    start: int,
    letters: Sequence[_Letter],
) -> Iterator[_Reading]:
    """A token, with those after it that complete its characters, matched with the text.

    It is decoded behind the tokens before it, since a word piece reads otherwise at the beginning.
    """
    n_before = len(decoded(before))
    for end in range(token + 1, len(ids) + 1):
        piece = decoded(before + tuple(ids[token:end]))[n_before:]
        matched = _match(piece, start, letters)
        if matched is not None:
            stop = matched[-1] + 1 if matched else start
            yield _Reading(end, stop, _place(matched, start, letters))
        if "\ufffd" not in (letter.letter for letter in piece):
            return


def _unknown(token: int, start: int, letters: Sequence[_Letter], text: str) -> Iterator[_Reading]:
    """An unknown-word token, the longest reading first: up to the next space.

    The last is that it stands for no letter at all: a line break may be unknown, too.
    """
    first = _next_needed(letters, start)
    stop = first
    while stop < len(letters) and (
        stop == first
        or not any(map(str.isspace, text[letters[stop - 1].place : letters[stop].place]))
    ):
        stop += 1
    for end in range(stop, first, -1):
        yield _Reading(token + 1, end, _place(range(first, end), start, letters))
    yield _Reading(token + 1, first, _place(range(start, first), start, letters))


def _match(piece: Sequence[_Letter], start: int, letters: Sequence[_Letter]) -> list[int] | None:
    """Which letters of the text a piece is, from `start` on, or None where it is not the text."""
    matched: list[int] = []
    here = start
    for letter, _ in piece:
        there = here
        while (
            there < len(letters) and letters[there].letter != letter and letters[there].is_droppable
        ):
            there += 1
        if there < len(letters) and letters[there].letter == letter:
            matched.append(there)
            here = there + 1
        elif not _Letter(letter, 0).is_droppable:
            return None
    return matched


def _place(matched: Sequence[int], start: int, letters: Sequence[_Letter]) -> Span:
    """From the first matched character to the last; empty after the last one read, if none is."""
    if matched:
        return Span(letters[matched[0]].place, letters[matched[-1]].place + 1)
    here = letters[start - 1].place + 1 if start else 0
    return Span(here, here)


def _next_needed(letters: Sequence[_Letter], start: int) -> int:
    """The first letter, from `start` on, that no tokenizer drops."""
    while start < len(letters) and letters[start].is_droppable:
        start += 1
    return start


def _letters(text: str) -> list[_Letter]:
    """The text without spaces, in lower case and taken apart into letters and accents."""
    return [
        _Letter(letter, place)
        for place, character in enumerate(text)
        for letter in normalize("NFKD", normalize("NFKD", character).casefold())
        if not letter.isspace()
    ]


def _mismatch(text: str, furthest: _Reading, ids: Sequence[int], tokenizer: Any) -> str:
    rest = text[furthest.place.end :]
    read = tokenizer.decode(list(ids[furthest.token :]))
    return (
        f"the tokens of {text!r} must decode to it, and from character {furthest.place.end} on "
        f"they read {read[:20]!r}, expected {rest[:20]!r}; this tokenizer changes the text too "
        "much to say which token is which word."
    )
