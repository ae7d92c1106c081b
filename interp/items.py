"""The record of an item: a prompt, its counterfactual, and what attention is expected to find.

Texts, character spans and labels come from the task; ids and token positions from `encode`.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple


class Span(NamedTuple):
    """Characters `start` to `end` of a text, end excluded."""

    start: int
    end: int


class Relation(NamedTuple):
    """A further edge of an item: from the words of `query`, attention belongs at `source`."""

    name: str
    query: Span
    source: tuple[Span, ...]


class Corruption(StrEnum):
    """How a counterfactual differs from its prompt.

    `role_flip` moves the source to the other slot while both keep their words; `feature_flip`
    changes the feature of the source that decides the answer; `removal` takes away what decides
    it, so that neither answer is right; `distractor` changes what must not matter, and is a
    control.
    """

    ROLE_FLIP = "role_flip"
    FEATURE_FLIP = "feature_flip"
    REMOVAL = "removal"
    DISTRACTOR = "distractor"


@dataclass(frozen=True, kw_only=True)
class Item:
    """One prompt and its counterfactual, of equal length in tokens.

    Spans are places in `clean_text`.

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
        query: where the answer is read, and attention to the source measured; None means the last
            token. Where it is the tokenizer's mask token, the answer stands in its place.
        relations: edges beside the one from the query to the source.
        corruption: how the counterfactual differs; None where people's own pairs do not say.
        split: the half of a design that the item belongs to, `"discovery"` or `"confirmation"`;
            the halves share no wording and no lexeme of an open class. Empty where there is none.
        lexemes: the word in each slot of the template.
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
    query: Span | None = None
    relations: tuple[Relation, ...] = ()
    corruption: Corruption | None = None
    split: str = ""
    lexemes: dict[str, str] = field(default_factory=dict)


def items_hash(items: Sequence[Item]) -> str:
    """SHA-256 of all that the items say."""
    text = json.dumps([_deciding(item) for item in items], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _deciding(item: Item) -> dict[str, Any]:
    """An item without what it leaves at its default, so that a new field changes no old hash."""
    defaults = {name: each.default for name, each in Item.__dataclass_fields__.items()}
    return {
        name: value
        for name, value in asdict(item).items()
        if value != defaults[name] and (value or name != "lexemes")
    }


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """One of the two prompts of a pair; attributes as in `Item`, places in `text`."""

    text: str
    answer: str
    foil: str
    source: Sequence[Span] = ()
    distractors: Sequence[Span] = ()
    labels: dict[str, str] = field(default_factory=dict)
    query: Span | None = None
    relations: Sequence[Relation] = ()
    lexemes: dict[str, str] = field(default_factory=dict)


def both_directions(
    clean: Prompt,
    corrupt: Prompt,
    *,
    pair_id: str,
    task: str,
    template_id: str,
    clusters: tuple[str, ...],
    corruption: Corruption | None = None,
    split: str = "",
) -> tuple[Item, Item]:
    """The two items of a pair: from clean to corrupt, and from corrupt to clean."""

    def item(direction: str, prompt: Prompt, other: Prompt) -> Item:
        return Item(
            item_id=f"{pair_id}.{direction}",
            pair_id=pair_id,
            task=task,
            template_id=template_id,
            clusters=clusters,
            clean_text=prompt.text,
            corrupt_text=other.text,
            answer_text=prompt.answer,
            foil_text=prompt.foil,
            source=tuple(prompt.source),
            distractors=tuple(prompt.distractors),
            labels=prompt.labels,
            query=prompt.query,
            relations=tuple(prompt.relations),
            corruption=corruption,
            split=split,
            lexemes=prompt.lexemes,
        )

    return item("a", clean, corrupt), item("b", corrupt, clean)


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
