"""Pairs of words in a relation of Universal Dependencies, from either end to the other."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from interp.items import ScoringItem
from interp.tasks.readers.reading import Reading, reading
from interp.tasks.readers.treebank import Sentence, read_sentences


def read_dependencies(path: Path | str, relation: str) -> Reading[ScoringItem]:
    """Two items for each pair of words in a relation such as `nsubj`, subtypes included.

    - direction `to head`: attention from the dependent to its head.
    - direction `to dependent`: from the head to the dependent.

    Distractors are the other words of the source's part of speech in the sentence. Labels:
    `relation`, `direction`, and `order`, whether the source stands `before` the query or `behind`
    it, where a causal model does not see it. A document is a cluster.

    Raises:
        ValueError: a line is not of the format, or no word has the relation; the message says what
            to do.

    Source: the relations of Clark et al. 2019, arXiv:1906.04341, in the scheme of
    universaldependencies.org.
    """
    items = dependency_items(read_sentences(path), relation)
    if not items:
        raise ValueError(
            f"{Path(path).name} has no word in the relation {relation!r}; give a relation of "
            "Universal Dependencies, such as nsubj or obj."
        )
    return reading(items, ())


def dependency_items(sentences: Iterable[Sentence], relation: str) -> list[ScoringItem]:
    """The items of `read_dependencies`, from sentences that are parsed already."""
    return [
        item
        for sentence in sentences
        for index, word in enumerate(sentence.words)
        if word.relation.split(":")[0] == relation.split(":", maxsplit=1)[0]
        and word.relation.startswith(relation)
        and word.head is not None
        for item in _both(sentence, index, word.head)
    ]


def _both(sentence: Sentence, dependent: int, head: int) -> Iterator[ScoringItem]:
    words = sentence.words
    for direction, query, source in (
        ("to head", dependent, head),
        ("to dependent", head, dependent),
    ):
        alike = [
            index
            for index, word in enumerate(words)
            if word.upos == words[source].upos and index not in (query, source)
        ]
        yield ScoringItem(
            item_id=f"{sentence.sent_id}.{dependent + 1}.{direction}",
            task="dependency",
            clusters=(f"document:{sentence.document}",),
            text=sentence.text,
            words=tuple(word.span for word in words),
            query=words[query].span,
            source=(words[source].span,),
            distractors=tuple(words[index].span for index in alike),
            labels={
                "relation": words[dependent].relation,
                "direction": direction,
                "order": "before" if source < query else "behind",
            },
        )
