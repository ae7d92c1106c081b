"""The same items with other words, in another order: what is known of a head must not change."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from interp.items import Item, Span
from interp.planted.words import FEMALE, MALE, PLURAL, SINGULAR, SYLLABLES


def redrawn(items: Sequence[Item], *, seed: int) -> tuple[Item, ...]:
    """Items with their names, nouns and syllables exchanged within each class, pairs shuffled.

    A noun goes with its plural, and a word of even number takes the place of one of even number,
    for heads that treat the two differently.
    """
    rng = Random(seed)
    other = _exchange(rng)
    pairs = [items[place : place + 2] for place in range(0, len(items), 2)]
    rng.shuffle(pairs)
    return tuple(_reworded(item, other, f"{seed}:") for pair in pairs for item in pair)


def _exchange(rng: Random) -> dict[str, str]:
    """Each word of an open class, and the one that takes its place."""
    other: dict[str, str] = {}
    for forms in ((MALE,), (FEMALE,), (SINGULAR, PLURAL), (SYLLABLES,)):
        for first in (0, 1):
            numbers = range(first, len(forms[0]), 2)
            drawn = rng.sample(numbers, len(numbers))
            for words in forms:
                other |= {words[old]: words[new] for old, new in zip(numbers, drawn, strict=True)}
    return other


def _reworded(item: Item, other: dict[str, str], prefix: str) -> Item:
    words = [other.get(word, word) for word in item.clean_text.split(" ")]

    def moved(spans: Sequence[Span]) -> tuple[Span, ...]:
        return tuple(_word_span(words, item.clean_text[:start].count(" ")) for start, _ in spans)

    return replace(
        item,
        item_id=f"{prefix}{item.item_id}",
        pair_id=f"{prefix}{item.pair_id}",
        clusters=tuple(_in_cluster(cluster, other) for cluster in item.clusters),
        clean_text=" ".join(words),
        corrupt_text=" ".join(other.get(word, word) for word in item.corrupt_text.split(" ")),
        answer_text=f" {other.get(item.answer_text[1:], item.answer_text[1:])}",
        foil_text=f" {other.get(item.foil_text[1:], item.foil_text[1:])}",
        source=moved(item.source),
        distractors=moved(item.distractors),
    )


def _word_span(words: Sequence[str], number: int) -> Span:
    start = sum(len(word) + 1 for word in words[:number])
    return Span(start, start + len(words[number]))


def _in_cluster(cluster: str, other: dict[str, str]) -> str:
    way, word = cluster.split(":")
    return f"{way}:{other.get(word, word)}"
