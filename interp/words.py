"""Words and the tokens that make them."""

from collections.abc import Sequence
from typing import Any

from interp.decoding import plain_letters, token_places
from interp.items import Span


def tokens_over(span: Span, places: Sequence[Span]) -> list[int]:
    """The tokens that stand for characters of a span, and those between them."""
    over = [
        token
        for token, place in enumerate(places)
        if place.start < span.end and span.start < place.end
    ]
    return list(range(over[0], over[-1] + 1)) if over else []


def word_tokens(words: Sequence[Span], text: str, tokenizer: Any) -> list[list[int]]:
    """The tokens of each word of a text, special tokens not counted; each checked by decoding.

    Two words share a token where the tokenizer cuts elsewhere ("do" and "n't" in "don", "'t").

    Raises:
        ValueError: the tokens of a word, decoded, do not contain it; the message names the word.
    """
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    places = token_places(ids, text, tokenizer)
    found = [tokens_over(word, places) for word in words]
    for word, tokens in zip(words, found, strict=True):
        require_word(word, text, tokenizer.decode([ids[token] for token in tokens]))
    return found


def require_word(word: Span, text: str, decoded: str) -> None:
    """Nothing, when what the tokens of a span read contains its word.

    Raises:
        ValueError: it does not; the message names the word.
    """
    written = text[word.start : word.end]
    if not written.strip() or not decoded or plain_letters(written) not in plain_letters(decoded):
        raise ValueError(
            f"the tokens at characters {word.start} to {word.end} of {text!r} read {decoded!r}, "
            f"expected {written!r}."
        )


def word_groups(words: Sequence[Sequence[int]], n_tokens: int) -> list[list[int]]:
    """All positions of a sequence, each in one group, in order: words, and what is not in a word.

    Words that share a token are one group; a special token or a token of spaces is its own.
    """
    groups: list[list[int]] = []
    for word in sorted(list(word) for word in [*words, *([token] for token in range(n_tokens))]):
        if groups and word and word[0] <= groups[-1][-1]:
            groups[-1] = sorted({*groups[-1], *word})
        elif word:
            groups.append(word)
    return groups
