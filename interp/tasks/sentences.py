"""The same items as whole sentences, for models that read both ways."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from interp.items import Item, Span

_SUBJECTS = ("he", "she", "it", "they")
_OBJECTS = ("him", "her", "his", "its", "them", "their")
_REFLEXIVES = ("himself", "herself", "itself", "themselves")
_PRONOUNS = (*_SUBJECTS, *_OBJECTS, *_REFLEXIVES)
_AFTER_VERB = " the same."  # of all the verbs, "go the same" alone is a little odd
_AFTER_SUBJECT = " knew."


def masked(items: Sequence[Item], tokenizer: Any) -> list[Item]:
    """The items with the tokenizer's mask token in the answer's place, inside a whole sentence.

    The query is the mask; all other spans stay where they are.

    Raises:
        ValueError: the tokenizer has no mask token, or an item already has a query.
    """
    mask = tokenizer.mask_token
    if mask is None:
        raise ValueError(
            f"{type(tokenizer).__name__} has no mask token; masked items are for masked language "
            "models."
        )
    return [_completed(item, f" {mask}", f" {mask}") for item in items]


def read_at(items: Sequence[Item]) -> list[Item]:
    """The items read at a word that stands in the text, such as a pronoun or a verb.

    The query is the pronoun that decides, where the item declares an edge from it to its
    antecedent, or the two texts differ in one. Where the answer would repeat a word of the slots,
    and so be like it whatever the sentence says, the query is the word behind the slots that
    decides, such as the one asked for in a list, or if that stands elsewhere the last word. In all
    other items it is the answer, put in its place in a whole sentence, and in the counterfactual
    the answer that is right there.

    Raises:
        ValueError: an item already has a query.
    """
    answers = {(item.pair_id, item.clean_text): item.answer_text for item in items}
    read = []
    for item in items:
        query = None if item.query is not None else _in_text(item)
        if query is None:
            there = answers.get((item.pair_id, item.corrupt_text), item.foil_text)
            read.append(_completed(item, item.answer_text, there))
        else:
            read.append(replace(item, query=query))
    return read


def _in_text(item: Item) -> Span | None:
    """Where an item is read without its answer, if it can be."""
    pronoun = _pronoun(item)
    slots = {item.clean_text[slice(*span)] for span in (*item.source, *item.distractors)}
    if pronoun is not None or item.answer_text.strip() not in slots:
        return pronoun
    behind = max(span.end for span in (*item.source, *item.distractors))
    words = list(re.finditer(r"\w+", item.clean_text))
    decides = _changed(item)
    if decides is None or decides[0].start() < behind:
        return Span(*words[-1].span())
    return Span(*decides[0].span())


def _completed(item: Item, here: str, there: str) -> Item:
    """An item with a word in the answer's place in either text, and the end of the sentence."""
    if item.query is not None:
        raise ValueError(
            f'item "{item.item_id}" has a query already; give items that are read at their last '
            "token."
        )
    end = _end(item)
    start = len(item.clean_text) + len(here) - len(here.lstrip())
    return replace(
        item,
        clean_text=item.clean_text + here + end,
        corrupt_text=item.corrupt_text + there + end,
        query=Span(start, len(item.clean_text) + len(here)),
    )


def _end(item: Item) -> str:
    """What makes a sentence of the text and its answer."""
    answer = item.answer_text.strip().lower()
    if item.task == "agreement" or "source_number" in item.labels:
        return _AFTER_VERB
    if answer in _SUBJECTS:
        return _AFTER_SUBJECT
    return '."' if item.clean_text.count('"') % 2 else "."


def _pronoun(item: Item) -> Span | None:
    """The pronoun of the text that decides, if one does."""
    for relation in item.relations:
        word = item.clean_text[slice(*relation.query)]
        if word.lower() in _PRONOUNS:
            return relation.query
    decides = _changed(item)
    if decides is None or not {word[0].lower() for word in decides} <= {*_PRONOUNS}:
        return None
    return Span(*decides[0].span())


def _changed(item: Item) -> tuple[re.Match[str], re.Match[str]] | None:
    """The first word in which the two texts differ, as it stands in each."""
    here, there = (re.finditer(r"\w+", text) for text in (item.clean_text, item.corrupt_text))
    pairs = zip(here, there, strict=False)
    return next((pair for pair in pairs if pair[0][0] != pair[1][0]), None)
