"""Pronouns of the third person and their antecedents, in a treebank with GUM's entities."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from interp.items import ScoringItem, Span
from interp.tasks.readers.entities import Mention, mentions
from interp.tasks.readers.reading import Reading, reading
from interp.tasks.readers.treebank import Sentence, Word, read_sentences

_KINDS = {"PRON": "pronoun", "PROPN": "proper"}


@dataclass(frozen=True, kw_only=True)
class _Window:
    """Some sentences as one text: words with their places there, and mentions, counted through."""

    text: str
    words: tuple[Word, ...]
    spans: tuple[Span, ...]
    mentions: tuple[Mention, ...]
    last_begins: int


def read_pronouns(path: Path | str, *, n_sentences: int) -> Reading[ScoringItem]:
    """Two items for each third-person pronoun whose antecedent stands in the text before it.

    The text is the pronoun's sentence and those before it in its document, `n_sentences` in all.

    - query `pronoun`: attention from the pronoun (resolution).
    - query `before pronoun`: from the word before it (prediction, for causal models). It is left
      out where this word is itself the head of an antecedent.

    The source is the head word of each earlier mention of the same entity, one of which is enough;
    distractors are the head words of all other mentions before the pronoun, so that chance among
    candidates is the share of the source. Labels: `query`, the `pronoun` in lower case, the kind of
    the nearest `antecedent` (pronoun, proper or nominal), and its `distance` in words. A document
    is a cluster.

    Raises:
        ValueError: `n_sentences` is not positive, a line is not of the format, or there is no
            annotation of entities; the message names the line and the field.

    Source: head words of antecedents as the target are those of Clark et al. 2019,
    arXiv:1906.04341; the annotation is Zeldes 2017, doi:10.1007/s10579-016-9343-x.
    """
    if n_sentences < 1:
        raise ValueError(f"n_sentences must be at least 1, got {n_sentences}.")
    items: list[ScoringItem] = []
    dropped: list[tuple[str, str]] = []
    for document, sentences in groupby(read_sentences(path), key=lambda one: one.document):
        annotated = [(sentence, mentions(sentence)) for sentence in sentences]
        for number, (sentence, _) in enumerate(annotated):
            window = _window(annotated[max(0, number + 1 - n_sentences) : number + 1])
            for index in _pronouns(window):
                place = window.words[index].place
                for query, result in _items(window, index, sentence.sent_id, document):
                    if isinstance(result, str):
                        dropped.append((f"{place}, {query}", result))
                    else:
                        items.append(result)
    return reading(items, dropped)


def _window(annotated: Sequence[tuple[Sentence, list[Mention]]]) -> _Window:
    text = ""
    words: list[Word] = []
    spans: list[Span] = []
    found: list[Mention] = []
    last_begins = 0
    for sentence, of_sentence in annotated:
        text += " " if text else ""
        shift, last_begins = len(text), len(words)
        found += [
            Mention(
                entity=mention.entity,
                start=last_begins + mention.start,
                end=last_begins + mention.end,
                head=last_begins + mention.head,
            )
            for mention in of_sentence
        ]
        words += sentence.words
        spans += [Span(shift + word.span.start, shift + word.span.end) for word in sentence.words]
        text += sentence.text
    return _Window(
        text=text,
        words=tuple(words),
        spans=tuple(spans),
        mentions=tuple(found),
        last_begins=last_begins,
    )


def _pronouns(window: _Window) -> list[int]:
    """The third-person pronouns of the window's last sentence."""
    return [
        index
        for index, word in enumerate(window.words)
        if index >= window.last_begins
        and word.upos == "PRON"
        and word.features.get("Person") == "3"
    ]


def _items(
    window: _Window, pronoun: int, sent_id: str, document: str
) -> Iterator[tuple[str, ScoringItem | str]]:
    """The items of a pronoun by query, or why there is none."""
    entity = next(
        (m.entity for m in window.mentions if (m.start, m.end) == (pronoun, pronoun + 1)), None
    )
    if entity is None:
        yield "pronoun", "the pronoun is no mention of an entity"
        return
    before = [mention for mention in window.mentions if mention.head < pronoun]
    antecedents = sorted({mention.head for mention in before if mention.entity == entity})
    others = sorted({mention.head for mention in before} - set(antecedents))
    if not antecedents:
        yield "pronoun", "no earlier mention of the entity in the text"
        return
    nearest = antecedents[-1]
    for query, index in (("pronoun", pronoun), ("before pronoun", pronoun - 1)):
        if index in antecedents:
            yield query, "the word before the pronoun heads an antecedent"
            continue
        yield (
            query,
            ScoringItem(
                item_id=f"{sent_id}.{pronoun - window.last_begins + 1}.{query}",
                task="antecedent",
                clusters=(f"document:{document}",),
                text=window.text,
                words=window.spans,
                query=window.spans[index],
                source=tuple(window.spans[head] for head in antecedents),
                distractors=tuple(window.spans[head] for head in others),
                labels={
                    "query": query,
                    "pronoun": window.words[pronoun].form.casefold(),
                    "antecedent": _KINDS.get(window.words[nearest].upos, "nominal"),
                    "distance": str(pronoun - nearest),
                },
            ),
        )
