"""Which characters of a text each token stands for, found by decoding: offsets can be wrong.

Tokens are read one after the other and matched with the text, letter by letter. What tokenizers
change on the way is allowed for: case, accents, compatibility forms, spaces, and invisible
characters that some of them drop.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any, NamedTuple
from unicodedata import category, normalize

from interp.items import Span

_CUT = "\ufffd"
"""What a part of a character decodes to."""


class _Text(NamedTuple):
    """A text as it is compared: its letters, and the character that each comes from."""

    letters: str
    places: tuple[int, ...]


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
    target = _compared(text)
    decoded = cache(lambda some: _folded(tokenizer.decode(list(some))))

    def readings(path: list[_Reading]) -> Iterator[_Reading]:
        token, letter = path[-1].token, path[-1].letter
        if token == len(ids):
            return iter(())
        if ids[token] == tokenizer.unk_token_id:
            return _unknown(token, letter, target, text)
        before = tuple(ids[path[-2].token : token]) if len(path) > 1 else ()
        return _known(ids, token, before, decoded, letter, target)

    path = [_Reading(0, 0, Span(0, 0))]
    open_ways = [readings(path)]
    dead: set[tuple[int, int]] = set()
    furthest = path[0]
    n_letters = len(target.letters)
    while path[-1].token < len(ids) or _next_needed(target.letters, path[-1].letter) < n_letters:
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
    return "".join(letter for letter in _folded(text) if not _is_droppable(letter))


def _known(
    ids: Sequence[int],
    token: int,
    before: tuple[int, ...],
    decoded: Callable[[tuple[int, ...]], str],
    start: int,
    target: _Text,
) -> Iterator[_Reading]:
    """A token, with those after it that complete its characters, matched with the text.

    It is decoded behind the tokens before it, since a word piece reads otherwise at the beginning.
    """
    n_before = len(decoded(before))
    for end in range(token + 1, len(ids) + 1):
        piece = decoded(before + tuple(ids[token:end]))[n_before:]
        matched = _match(piece, start, target.letters)
        if matched is not None:
            stop = matched[-1] + 1 if matched else start
            yield _Reading(end, stop, _place(matched, start, target))
        if _CUT not in piece:
            return


def _unknown(token: int, start: int, target: _Text, text: str) -> Iterator[_Reading]:
    """An unknown-word token, the longest reading first: up to the next space.

    The last is that it stands for no letter at all: a line break may be unknown, too.
    """
    first = _next_needed(target.letters, start)
    stop = first
    while stop < len(target.letters) and (
        stop == first
        or not any(map(str.isspace, text[target.places[stop - 1] : target.places[stop]]))
    ):
        stop += 1
    for end in range(stop, first, -1):
        yield _Reading(token + 1, end, _place(range(first, end), start, target))
    yield _Reading(token + 1, first, _place(range(start, first), start, target))


def _match(piece: str, start: int, letters: str) -> list[int] | None:
    """Which letters of the text a piece is, from `start` on, or None where it is not the text."""
    matched: list[int] = []
    here = start
    for letter in piece:
        there = here
        while there < len(letters) and letters[there] != letter and _is_droppable(letters[there]):
            there += 1
        if there < len(letters) and letters[there] == letter:
            matched.append(there)
            here = there + 1
        elif not _is_droppable(letter):
            return None
    return matched


def _place(matched: Sequence[int], start: int, target: _Text) -> Span:
    """From the first matched character to the last; empty after the last one read, if none is."""
    if matched:
        return Span(target.places[matched[0]], target.places[matched[-1]] + 1)
    here = target.places[start - 1] + 1 if start else 0
    return Span(here, here)


def _next_needed(letters: str, start: int) -> int:
    """The first letter, from `start` on, that no tokenizer drops."""
    while start < len(letters) and _is_droppable(letters[start]):
        start += 1
    return start


def _compared(text: str) -> _Text:
    folded = [_letters_of(character) for character in text]
    places = [place for place, letters in enumerate(folded) for _ in letters]
    return _Text("".join(folded), tuple(places))


def _folded(text: str) -> str:
    return "".join(map(_letters_of, text))


@lru_cache(maxsize=4096)
def _letters_of(character: str) -> str:
    """A character in lower case and taken apart into letters and accents; a space is nothing."""
    apart = normalize("NFKD", normalize("NFKD", character).casefold())
    return "".join(letter for letter in apart if not letter.isspace())


@lru_cache(maxsize=4096)
def _is_droppable(letter: str) -> bool:
    """Whether a tokenizer may have left it out: accents, controls, invisible characters."""
    return category(letter)[0] == "C" or category(letter) == "Mn"


def _mismatch(text: str, furthest: _Reading, ids: Sequence[int], tokenizer: Any) -> str:
    rest = text[furthest.place.end :]
    read = tokenizer.decode(list(ids[furthest.token :]))
    return (
        f"the tokens of {text!r} must decode to it, and from character {furthest.place.end} on "
        f"they read {read[:20]!r}, expected {rest[:20]!r}; this tokenizer changes the text too "
        "much to say which token is which word."
    )
