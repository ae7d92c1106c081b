"""The record of an item: a prompt, its counterfactual, and what attention is expected to find.

Texts, character spans and labels come from the task; ids and token positions from `encode`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class Span(NamedTuple):
    """Characters `start` to `end` of a text, end excluded."""

    start: int
    end: int


@dataclass(frozen=True, kw_only=True)
class Item:
    """One prompt and its counterfactual, of equal length in tokens.

    The query is the last token of `clean_text`: there the answer is read, and there attention to
    the source is measured. Spans are places in `clean_text`.

    Attributes:
        item_id: unique within a task.
        pair_id: shared by the two directions of one pair (clean and corrupt exchanged).
        task, template_id: where the item comes from.
        clusters: one or two lexical frames that the item shares with others; two in a crossed
            design, one a factor. Items that share a frame are not independent.
        answer_text, foil_text: continuations as they stand in context, leading space included.
        source: where the relation says that the query finds its answer; all spans together.
        distractors: where it would be found in the counterfactual, and other candidates.
        labels: the cell of the design, such as `{"source_number": "singular"}`.
    """

    item_id: str
    pair_id: str
    task: str
    template_id: str
    clusters: tuple[str, ...]
    clean_text: str
    corrupt_text: str
    answer_text: str
    foil_text: str
    source: tuple[Span, ...]
    distractors: tuple[Span, ...]
    labels: dict[str, str] = field(default_factory=dict)


def both_directions(
    *,
    pair_id: str,
    task: str,
    template_id: str,
    clusters: tuple[str, ...],
    clean_text: str,
    corrupt_text: str,
    answer_text: str,
    foil_text: str,
    source: Sequence[Span],
    corrupt_source: Sequence[Span],
    distractors: Sequence[Span],
    corrupt_distractors: Sequence[Span],
    labels: dict[str, str],
    corrupt_labels: dict[str, str],
) -> tuple[Item, Item]:
    """The two items of a pair: from clean to corrupt, and from corrupt to clean."""
    clean = Item(
        item_id=f"{pair_id}.a",
        pair_id=pair_id,
        task=task,
        template_id=template_id,
        clusters=clusters,
        clean_text=clean_text,
        corrupt_text=corrupt_text,
        answer_text=answer_text,
        foil_text=foil_text,
        source=tuple(source),
        distractors=tuple(distractors),
        labels=labels,
    )
    corrupt = Item(
        item_id=f"{pair_id}.b",
        pair_id=pair_id,
        task=task,
        template_id=template_id,
        clusters=clusters,
        clean_text=corrupt_text,
        corrupt_text=clean_text,
        answer_text=foil_text,
        foil_text=answer_text,
        source=tuple(corrupt_source),
        distractors=tuple(corrupt_distractors),
        labels=corrupt_labels,
    )
    return clean, corrupt


@dataclass(frozen=True, kw_only=True)
class ScoringItem:
    """A place in natural text and where attention from it belongs; it has no counterfactual.

    All spans are places in `text`.

    Attributes:
        item_id: unique within a task.
        task: the relation, such as subject or antecedent.
        clusters: as in `Item`.
        words: the words of the text, in order, as its source divides it.
        query: the word from which attention is measured.
        source: where the relation says that it goes; one of several is enough.
        distractors: other candidates, of the same kind.
        labels: what the source says about the item, such as `{"relation": "nsubj"}`.
    """

    item_id: str
    task: str
    clusters: tuple[str, ...]
    text: str
    words: tuple[Span, ...]
    query: Span
    source: tuple[Span, ...]
    distractors: tuple[Span, ...]
    labels: dict[str, str] = field(default_factory=dict)
