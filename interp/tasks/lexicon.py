"""Lexicons and wordings from TOML, and the part of a lexicon that a tokenizer can use."""

import tomllib
from collections.abc import Sequence
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from interp.resources import data_folder
from interp.tokens import text_tokens

MIN_LEXEMES = 8
"""An open slot (nouns, names, words) needs this many, to say something about other words."""

MIN_FORMS = 4
"""A closed class (verb pairs, wordings) needs this many."""

Text = Annotated[str, Field(min_length=1)]
Lexeme = TypeVar("Lexeme", str, tuple[str, str])
RecordType = TypeVar("RecordType", bound="Record")


class Record(BaseModel):
    """Written by hand in a file: frozen, and an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Wording(Record):
    """A template, such as `"The {noun1} {flip} the {noun2}"`, and its two flipping words.

    With the first word of `flip` one slot is the source, with the second the other.
    """

    id: Text
    text: Text
    flip: tuple[Text, Text]


def load(filename: str, schema: type[RecordType]) -> RecordType:
    """A file of `data`, as a record.

    Raises:
        ValueError: the file does not fit the schema; the message names the field.
    """
    raw = tomllib.loads((data_folder() / filename).read_text(encoding="utf-8"))
    return validated(raw, schema, place=f"data/{filename}")


def validated(raw: Any, schema: type[RecordType], *, place: str) -> RecordType:
    """A record from untrusted values.

    Raises:
        ValueError: the first thing wrong, in one sentence that names the place and the field.
    """
    try:
        return schema.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        names = [str(part) for part in first["loc"]]
        field = f'field "{".".join(names)}": ' if names else ""
        message = first["msg"].removeprefix("Value error, ")
        raise ValueError(f"{place}: {field}{message.rstrip('.')}.") from error


def single_token(
    lexemes: Sequence[Lexeme], tokenizer: Any, *, slot: str, at_least: int = MIN_LEXEMES
) -> list[Lexeme]:
    """The lexemes of which every form is one token after a space, in the same order.

    Raises:
        ValueError: fewer than `at_least` are left; the message lists the lost ones.
    """
    kept: list[Lexeme] = []
    lost: list[Lexeme] = []
    for lexeme in lexemes:
        forms = (lexeme,) if isinstance(lexeme, str) else lexeme
        usable = all(_is_single_token(form, tokenizer) for form in forms)
        (kept if usable else lost).append(lexeme)
    if len(kept) < at_least:
        names = ", ".join(
            lexeme if isinstance(lexeme, str) else "/".join(lexeme) for lexeme in lost
        )
        raise ValueError(
            f'the slot "{slot}" needs {at_least} lexemes that are one token each, and this '
            f"tokenizer leaves {len(kept)}; lost: {names or 'none'}; add words to the lexicon "
            "or take another tokenizer."
        )
    return kept


def single_token_wordings(wordings: Sequence[Wording], tokenizer: Any) -> list[Wording]:
    """The wordings of which both flipping words are one token, in the same order.

    Raises:
        ValueError: fewer than four are left.
    """
    flips = [wording.flip for wording in wordings]
    kept = set(single_token(flips, tokenizer, slot="wordings", at_least=MIN_FORMS))
    return [wording for wording in wordings if wording.flip in kept]


def _is_single_token(word: str, tokenizer: Any) -> bool:
    """Whether a word after a space is one token, and not the one for unknown words."""
    before, _ = text_tokens("The", tokenizer)
    ids, _ = text_tokens(f"The {word}", tokenizer)
    is_one_more = len(ids) == len(before) + 1 and ids[:-1] == before
    return is_one_more and tokenizer.decode(ids[-1:]).strip().casefold() == word.casefold()
