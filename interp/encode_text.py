"""Scoring items to ids: words of natural text as groups of tokens, with query and source."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from interp.items import ScoringItem, Span
from interp.words import word_groups, word_tokens


@dataclass(frozen=True, kw_only=True)
class TextBatch:
    """Scoring items that share one text, as one sequence of tokens.

    Words are counted as groups of positions: words that share a token are one, and a token of no
    word is its own.

    Attributes:
        ids: prefix and suffix included.
        groups: the positions of each word, in order; together all positions, each once.
        special: the words that are prefix, suffix or position 0.
        items: those of the text; `query`, `source` and `distractors` are their words by number.
    """

    ids: tuple[int, ...]
    groups: tuple[tuple[int, ...], ...]
    special: tuple[int, ...]
    items: tuple[ScoringItem, ...]
    query: tuple[int, ...]
    source: tuple[tuple[int, ...], ...]
    distractors: tuple[tuple[int, ...], ...]

    def __len__(self) -> int:
        return len(self.items)


@dataclass(frozen=True, kw_only=True)
class EncodedTexts:
    """Batches, and a row for each item that was left out: its `item_id` and the `reason`."""

    batches: tuple[TextBatch, ...]
    dropped: pd.DataFrame


def encode_texts(
    items: Sequence[ScoringItem],
    tokenizer: Any,
    *,
    before: Sequence[int],
    after: Sequence[int] = (),
    longest: int,
) -> EncodedTexts:
    """Scoring items under a prefix, a batch for each text that they share, in order.

    Left out, with the reason, are items of a text that is longer than `longest` tokens or whose
    words are not found in its tokens; and an item whose query shares a token with its source.
    """
    by_text: dict[tuple[str, tuple[Span, ...]], list[ScoringItem]] = {}
    for item in items:
        by_text.setdefault((item.text, item.words), []).append(item)
    batches: list[TextBatch] = []
    dropped: list[tuple[str, str]] = []
    for (text, words), of_text in by_text.items():
        try:
            groups, ids, special = _groups(text, words, tokenizer, before, after, longest)
        except ValueError as error:
            dropped += [(item.item_id, str(error)) for item in of_text]
            continue
        placed = [_Placed(item, words, groups, len(before)) for item in of_text]
        for each in placed:
            if each.query in each.source:
                dropped.append((each.item.item_id, "query and source share a token"))
        kept = [each for each in placed if each.query not in each.source]
        if kept:
            batches.append(
                TextBatch(
                    ids=tuple(ids),
                    groups=tuple(tuple(group) for group in groups.tokens),
                    special=special,
                    items=tuple(each.item for each in kept),
                    query=tuple(each.query for each in kept),
                    source=tuple(each.source for each in kept),
                    distractors=tuple(each.distractors for each in kept),
                )
            )
    table = pd.DataFrame(dropped, columns=["item_id", "reason"], dtype="str")
    return EncodedTexts(batches=tuple(batches), dropped=table)


@dataclass(frozen=True)
class _Groups:
    tokens: list[list[int]]
    of_word: dict[Span, int]


class _Placed:
    """An item with its words by number."""

    def __init__(
        self, item: ScoringItem, words: Sequence[Span], groups: _Groups, shift: int
    ) -> None:
        self.item = item
        self.query = groups.of_word[item.query]
        self.source = tuple(sorted({groups.of_word[span] for span in item.source}))
        others = {groups.of_word[span] for span in item.distractors}
        self.distractors = tuple(sorted(others - {self.query, *self.source}))


def _groups(
    text: str,
    words: Sequence[Span],
    tokenizer: Any,
    before: Sequence[int],
    after: Sequence[int],
    longest: int,
) -> tuple[_Groups, list[int], tuple[int, ...]]:
    """The words of a text as groups of positions, its ids, and which groups are special."""
    inner = tokenizer(text, add_special_tokens=False)["input_ids"]
    ids = [*before, *inner, *after]
    if len(ids) > longest:
        raise ValueError(f"the text has {len(ids)} tokens, more than {longest}")
    shift = len(before)
    positions = [
        [shift + token for token in tokens] for tokens in word_tokens(words, text, tokenizer)
    ]
    tokens = word_groups(positions, len(ids))
    group_at = {place: number for number, group in enumerate(tokens) for place in group}
    of_word = {span: group_at[places[0]] for span, places in zip(words, positions, strict=True)}
    specials = {0, *range(shift), *range(shift + len(inner), len(ids))}
    return _Groups(tokens, of_word), ids, tuple(sorted({group_at[place] for place in specials}))


def all_items(batches: Sequence[TextBatch]) -> Iterator[ScoringItem]:
    """The items of batches, in the order in which they are scored."""
    for batch in batches:
        yield from batch.items
