"""Sentences of a small grammar, parsed because they are made so: what a treebank is used for."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations
from random import Random

from interp.items import ScoringItem, Span
from interp.tasks.lexicon import Record, load
from interp.tasks.readers.treebank import Sentence, Word


class _Words(Record):
    verbs: tuple[str, ...]
    determiners: tuple[str, ...]
    adjectives: tuple[str, ...]
    adverbs: tuple[str, ...]
    prepositions: tuple[str, ...]
    openings: tuple[str, ...]
    conjunctions: tuple[str, ...]


class _Classes(Record):
    subjects: tuple[str, ...]


class _Data(Record):
    nouns: dict[str, tuple[str, ...]]
    classes: _Classes
    words: _Words


def noun_classes() -> dict[str, tuple[str, ...]]:
    """Nouns in classes of things that are alike, such as animals and tools."""
    return dict(load("parsed.toml", _Data).nouns)


def parsed_sentences(n_sentences: int, *, seed: int) -> list[Sentence]:
    """English sentences with subjects, objects, adjectives and phrases at changing distances.

    Relations and parts of speech are named as in Universal Dependencies. Each sentence is a
    document of its own, and no noun comes twice in one.
    """
    data = load("parsed.toml", _Data)
    return [_sentence(data, number, Random(f"{seed}.{number}")) for number in range(n_sentences)]


def noun_pairs(sentences: Iterator[Sentence] | list[Sentence]) -> list[ScoringItem]:
    """An item for each two nouns of a sentence, in either order: from one to the other.

    Nouns alone: neither names nor pronouns, whose embeddings say little about what is meant.
    """
    items = []
    for sentence in sentences:
        nouns = [number for number, word in enumerate(sentence.words) if word.upos == "NOUN"]
        for query, source in permutations(nouns, 2):
            items.append(
                ScoringItem(
                    item_id=f"{sentence.sent_id}.{query + 1}.{source + 1}",
                    task="noun pair",
                    clusters=(f"document:{sentence.document}",),
                    text=sentence.text,
                    words=tuple(word.span for word in sentence.words),
                    query=sentence.words[query].span,
                    source=(sentence.words[source].span,),
                    distractors=(),
                    labels={"order": "before" if source < query else "behind"},
                )
            )
    return items


@dataclass
class _Row:
    form: str
    upos: str
    relation: str
    head: int | None = None


class _Clause:
    """Words in order, each with the place of its head."""

    def __init__(self, data: _Data, rng: Random) -> None:
        self.rows: list[_Row] = []
        self._data, self._rng = data, rng
        self._nouns = {name: list(nouns) for name, nouns in data.nouns.items()}

    def add(self, form: str, upos: str, relation: str, head: int | None = None) -> int:
        self.rows.append(_Row(form, upos, relation, head))
        return len(self.rows) - 1

    def pick(self, words: tuple[str, ...]) -> str:
        return self._rng.choice(words)

    def happens(self, chance: float) -> bool:
        return self._rng.random() < chance

    def noun_phrase(self, relation: str, *, classes: tuple[str, ...], has_phrase: bool) -> int:
        """A noun with its determiner and adjectives, and perhaps a phrase that belongs to it."""
        words = self._data.words
        before = [self.add(self.pick(words.determiners), "DET", "det")]
        for adjective in self._rng.sample(words.adjectives, self._rng.choice((0, 0, 1, 1, 2))):
            before.append(self.add(adjective, "ADJ", "amod"))
        noun = self.add(self._noun(classes), "NOUN", relation)
        for place in before:
            self.rows[place].head = noun
        if has_phrase:
            self._phrase("nmod", noun)
        return noun

    def clause(self, relation: str) -> int:
        """Subject, verb, object; returns the verb."""
        words, classes = self._data.words, self._data.classes
        subject = self.noun_phrase("nsubj", classes=classes.subjects, has_phrase=self.happens(0.5))
        adverb = self.add(self.pick(words.adverbs), "ADV", "advmod") if self.happens(0.3) else None
        verb = self.add(self.pick(words.verbs), "VERB", relation)
        for place in (subject, adverb):
            if place is not None:
                self.rows[place].head = verb
        thing = self.noun_phrase(
            "obj", classes=tuple(self._data.nouns), has_phrase=self.happens(0.2)
        )
        self.rows[thing].head = verb
        if self.happens(0.3):
            self._phrase("obl", verb)
        return verb

    def _phrase(self, relation: str, head: int) -> None:
        case = self.add(self.pick(self._data.words.prepositions), "ADP", "case")
        noun = self.noun_phrase(relation, classes=tuple(self._data.nouns), has_phrase=False)
        self.rows[case].head, self.rows[noun].head = noun, head

    def _noun(self, classes: tuple[str, ...]) -> str:
        """A noun that was not used yet, from any of the classes."""
        of_class = self._nouns[self._rng.choice(classes)]
        return of_class.pop(self._rng.randrange(len(of_class)))


def _sentence(data: _Data, number: int, rng: Random) -> Sentence:
    clause = _Clause(data, rng)
    opening = clause.happens(0.3)
    if opening:
        clause.add(clause.pick(data.words.openings), "ADV", "advmod")
        clause.add(",", "PUNCT", "punct")
    root = clause.clause("root")
    for place in (0, 1) if opening else ():
        clause.rows[place].head = root
    if clause.happens(0.5):
        mark = clause.add(clause.pick(data.words.conjunctions), "SCONJ", "mark")
        second = clause.clause("advcl")
        clause.rows[mark].head, clause.rows[second].head = second, root
    clause.add(".", "PUNCT", "punct", root)
    return _written(clause.rows, f"generated-{number}")


def _written(rows: list[_Row], name: str) -> Sentence:
    """The sentence as a text, no space before punctuation, and its words' places in it."""
    text, words = "", []
    for place, row in enumerate(rows):
        form = row.form if place else row.form.capitalize()
        start = len(text) if not text or row.upos == "PUNCT" else len(text) + 1
        text = text.ljust(start) + form
        words.append(
            Word(
                place=name,
                span=Span(start, start + len(form)),
                form=form,
                upos=row.upos,
                head=row.head,
                relation=row.relation,
                features={},
                misc={},
            )
        )
    return Sentence(sent_id=name, document=name, entity_columns=(), text=text, words=tuple(words))
