"""Text to token ids under one prefix policy, each token with its label and its characters."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from interp.decoding import plain_letters, token_places
from interp.items import Span
from interp.words import tokens_over


@dataclass(frozen=True, kw_only=True)
class Tokens:
    """A prompt as the model sees it: one label for each id, and so for each key of a pattern."""

    ids: tuple[int, ...]
    labels: tuple[str, ...]


def prompt_tokens(
    prompt: str | Sequence[str] | Sequence[int],
    tokenizer: Any,
    *,
    before: Sequence[int],
    after: Sequence[int] = (),
) -> Tokens:
    """The ids of a text, of a list of tokens, or of a list of ids that has its prefix already.

    A text or a list of tokens gets the prefix `before` and the suffix `after`, once.

    Raises:
        ValueError: a text or a list of tokens that begins with a special token, ids that do not
            begin with the prefix, or a token that is not in the vocabulary.
    """
    if isinstance(prompt, str):
        ids = [*before, *text_tokens(prompt, tokenizer)[0], *after]
    elif all(isinstance(token, str) for token in prompt):
        ids = [*before, *_known([str(token) for token in prompt], tokenizer), *after]
    else:
        ids = [int(number) for number in prompt]
        _require_prefix(ids, tokenizer, list(before), list(after))
    return Tokens(ids=tuple(ids), labels=tuple(tokenizer.decode([number]) for number in ids))


def text_tokens(text: str, tokenizer: Any) -> tuple[list[int], list[Span]]:
    """Token ids of a text, and the characters that each covers; no special token is added.

    The characters are the tokenizer's own account, which can be wrong: for spans, use `covering`.

    Raises:
        ValueError: the text begins with a special token, which is for the prefix to add.
    """
    return text_ids(text, tokenizer), [Span(*place) for place in _cut(text, tokenizer)[1]]


def text_ids(text: str, tokenizer: Any) -> list[int]:
    """Token ids of a text; no special token is added.

    Raises:
        ValueError: the text begins with a special token, which is for the prefix to add.
    """
    return list(_cut(text, tokenizer)[0])


@lru_cache(maxsize=512)  # the checks of a set of items ask for the same texts again and again
def _cut(text: str, tokenizer: Any) -> tuple[tuple[int, ...], tuple[tuple[int, int], ...]]:
    encoded = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    _refuse_special(encoded["input_ids"], tokenizer)
    return tuple(encoded["input_ids"]), tuple(encoded["offset_mapping"])


def covering(span: Span, text: str, tokenizer: Any) -> tuple[list[int], str]:
    """Which tokens of a text cover a span, found by decoding, and what they read."""
    ids, offsets = text_tokens(text, tokenizer)
    claimed = tokens_over(span, offsets)
    if claimed and _reads(claimed, span, ids, text, tokenizer):
        positions = claimed
    else:
        positions = tokens_over(span, token_places(ids, text, tokenizer))
    return positions, tokenizer.decode([ids[position] for position in positions])


def _reads(
    positions: Sequence[int], span: Span, ids: Sequence[int], text: str, tokenizer: Any
) -> bool:
    """Whether these tokens, decoded, are the span's words, and those before them what precedes."""
    here = slice(positions[0], positions[-1] + 1)
    before, within = (tokenizer.decode(ids[part]) for part in (slice(here.start), here))
    return plain_letters(within) == plain_letters(text[span.start : span.end]) and plain_letters(
        before
    ) == plain_letters(text[: span.start])


def continuation(text: str, word: str, tokenizer: Any) -> list[int] | None:
    """The tokens that a word adds to a text, or None when it changes the text's own."""
    before = text_ids(text, tokenizer)
    ids = text_ids(text + word, tokenizer)
    return ids[len(before) :] if ids[: len(before)] == before else None


def in_place_of(span: Span, text: str, word: str, tokenizer: Any) -> list[int]:
    """The tokens of a word that is put in the place of a span, such as a mask."""
    before, after = text[: span.start], text[span.end :]
    whole = tokenizer(before + word.strip() + after, add_special_tokens=False).input_ids
    n_before = len(tokenizer(before.rstrip(), add_special_tokens=False).input_ids)
    n_after = len(tokenizer(after, add_special_tokens=False).input_ids)
    pieces: list[int] = whole[n_before : len(whole) - n_after]
    return pieces


def _known(tokens: list[str], tokenizer: Any) -> list[int]:
    vocabulary = tokenizer.get_vocab()
    unknown = [token for token in tokens if token not in vocabulary]
    if unknown:
        raise ValueError(
            f"{unknown[0]!r} is no token of this vocabulary; give tokens as "
            "`tokenizer.convert_ids_to_tokens` spells them, or the text itself."
        )
    ids = [vocabulary[token] for token in tokens]
    _refuse_special(ids, tokenizer)
    return ids


def _refuse_special(ids: list[int], tokenizer: Any) -> None:
    if ids and ids[0] in tokenizer.all_special_ids:
        raise ValueError(
            f"the text begins with the special token {tokenizer.decode(ids[:1])!r}, and the prefix "
            "is added to every text; remove it and choose the prefix (document, bos or none), or "
            "give ids."
        )


def _require_prefix(ids: list[int], tokenizer: Any, before: list[int], after: list[int]) -> None:
    begins = ids[: len(before)] == before
    ends = not after or ids[-len(after) :] == after
    if not (begins and ends):
        around = [tokenizer.decode(part) for part in (before, after) if part]
        raise ValueError(
            f"ids are taken as they are and must have the prefix policy's {' … '.join(around)!r} "
            f"around them, got {tokenizer.decode(ids[:3])!r} …; add it, or load the model with "
            "another prefix."
        )
