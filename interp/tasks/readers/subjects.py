"""Verbs and their subjects in a treebank of Universal Dependencies."""

from collections.abc import Iterator
from pathlib import Path

from interp.items import ScoringItem
from interp.tasks.readers.reading import Reading, reading
from interp.tasks.readers.treebank import NOMINAL, Sentence, read_sentences

_VERB_GROUP = ("aux", "cop")
_NUMBERS = {"Sing": "singular", "Plur": "plural"}


def read_subjects(path: Path | str) -> Reading[ScoringItem]:
    """Two items for each `nsubj` of a CoNLL-U file, subtypes included.

    - query `verb`: attention from the word that governs the subject (with a copula, the predicate).
    - query `before verb`: attention from the word before the first auxiliary, copula or verb that
      follows the subject; there a causal model must know the subject to predict the verb's form. It
      is left out where no such word has seen the subject, or the word is the subject.

    The source is the subject's head word; distractors are the other nouns and pronouns before the
    verb group. Labels: `relation`, `query`, `order` and, where the subject's `number` is annotated,
    `n_attractors`: how many nouns and pronouns of the other number stand between. A document is a
    cluster.

    Raises:
        ValueError: a line is not of the format; the message names it and the field.

    Source: the last word before the verb as a query is that of Linzen et al. 2016; the relation is
    universaldependencies.org/u/dep/nsubj.html, whose heads are not those of Stanford Dependencies.
    """
    items: list[ScoringItem] = []
    dropped: list[tuple[str, str]] = []
    for sentence in read_sentences(path):
        for index, word in enumerate(sentence.words):
            if word.relation.split(":")[0] != "nsubj" or word.head is None:
                continue
            for query, place in _queries(sentence, index, word.head):
                if isinstance(place, str):
                    dropped.append((f"{word.place}, {query}", place))
                else:
                    items.append(_item(sentence, index, word.head, query, place))
    return reading(items, dropped)


def _queries(sentence: Sentence, subject: int, head: int) -> Iterator[tuple[str, int | str]]:
    """The queries of a subject: the index of a word, or why there is none."""
    yield "verb", head
    before = _verb_group(sentence, subject, head) - 1
    if before < subject:
        yield "before verb", "the subject follows the verb"
    elif before == subject:
        yield "before verb", "the word before the verb is the subject itself"
    else:
        yield "before verb", before


def _verb_group(sentence: Sentence, subject: int, head: int) -> int:
    """The first auxiliary, copula or verb after the subject; the verb where none follows it."""
    group = [
        index
        for index, word in enumerate(sentence.words)
        if index == head or (word.head == head and word.relation.split(":")[0] in _VERB_GROUP)
    ]
    return next((index for index in group if index > subject), head)


def _item(sentence: Sentence, subject: int, head: int, query: str, place: int) -> ScoringItem:
    words = sentence.words
    verb = _verb_group(sentence, subject, head)
    nominal = [index for index, word in enumerate(words) if word.upos in NOMINAL]
    labels = {
        "relation": words[subject].relation,
        "query": query,
        "order": "subject first" if subject < verb else "verb first",
    }
    number = _NUMBERS.get(words[subject].features.get("Number", ""))
    if number:
        between = [words[i].features.get("Number", "") for i in nominal if subject < i < verb]
        n_attractors = sum(_NUMBERS.get(other, number) != number for other in between)
        labels |= {"number": number, "n_attractors": str(n_attractors)}
    return ScoringItem(
        item_id=f"{sentence.sent_id}.{subject + 1}.{query}",
        task="subject",
        clusters=(f"document:{sentence.document}",),
        text=sentence.text,
        words=tuple(word.span for word in words),
        query=words[place].span,
        source=(words[subject].span,),
        distractors=tuple(words[i].span for i in nominal if i < verb and i not in (subject, head)),
        labels=labels,
    )
