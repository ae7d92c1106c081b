"""Long-range patterns: the word asked decides which of two earlier places holds the answer."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from random import Random
from typing import Any

from interp.items import Corruption, Item, Prompt, both_directions
from interp.tasks.design import Deck, balanced_cells, crossed
from interp.tasks.family import Family
from interp.tasks.lexicon import Record, load, single_token
from interp.tasks.wording import fill

_N_BLOCK = 12
_N_ENTRIES = 4


class _Repeat(Record):
    text: str
    words: tuple[str, ...]


class _Recall(Record):
    text: str
    entry: str
    separator: str
    keys: tuple[str, ...]
    values: tuple[str, ...]


class _Data(Record):
    repeat: _Repeat
    recall: _Recall


def generate(tokenizer: Any, n_pairs: int, seed: int, _: Corruption) -> list[Item]:
    """Pairs that differ in the word asked: half of them `repeat`, half `recall`.

    Balanced: the template, and within it the two places that a pair asks for.
    """
    data = load("long_range.toml", _Data)
    rng = Random(seed)
    n_recall = n_pairs // 2
    return [
        *_repeat(data.repeat, tokenizer, n_pairs - n_recall, rng),
        *_recall(data.recall, tokenizer, n_recall, rng),
    ]


def _repeat(data: _Repeat, tokenizer: Any, n_pairs: int, rng: Random) -> list[Item]:
    """A block of words twice, then one of them: the answer is the word that followed, twice.

    The two words asked are not neighbours, so no answer is itself a word asked; and neither is the
    block's last, which is followed by two different words.
    """
    lexicon = single_token(data.words, tokenizer, slot="words", at_least=_N_BLOCK)
    rng.shuffle(lexicon)
    deck = Deck(lexicon, rng)
    pairs_of_places = [(i, j) for i, j in combinations(range(_N_BLOCK - 1), 2) if j - i > 1]
    cells = balanced_cells(n_pairs, rng, pairs_of_places)
    template = data.text.replace("{block}", " ".join(f"{{word{i}}}" for i in range(_N_BLOCK)))

    items: list[Item] = []
    for (places,), asked in zip(cells, crossed(lexicon, lexicon, n_pairs), strict=True):
        block = _with_at(deck.deal(_N_BLOCK - 2, beside=asked), asked, places)
        words = {f"word{i}": word for i, word in enumerate(block)}
        items += _pair(
            f"long_range.{len(items) // 2:04d}.repeat",
            "repeat",
            template,
            words,
            queries=[f"word{place}" for place in places],
            answers=[f"word{place + 1}" for place in places],
        )
    return items


def _recall(data: _Recall, tokenizer: Any, n_pairs: int, rng: Random) -> list[Item]:
    """A list of keys with their values, then one of the keys: the answer is its value."""
    keys = single_token(data.keys, tokenizer, slot="keys")
    values = single_token(data.values, tokenizer, slot="values")
    rng.shuffle(keys)
    rng.shuffle(values)
    key_deck, value_deck = Deck(keys, rng), Deck(values, rng)
    cells = balanced_cells(n_pairs, rng, list(combinations(range(_N_ENTRIES), 2)))
    entries = [
        data.entry.replace("{key}", f"{{key{i}}}").replace("{value}", f"{{value{i}}}")
        for i in range(_N_ENTRIES)
    ]
    template = data.text.replace("{entries}", data.separator.join(entries))

    items: list[Item] = []
    for (places,), asked, answers in zip(
        cells, crossed(keys, keys, n_pairs), crossed(values, values, n_pairs), strict=True
    ):
        all_keys = _with_at(key_deck.deal(_N_ENTRIES - 2, beside=asked), asked, places)
        all_values = _with_at(value_deck.deal(_N_ENTRIES - 2, beside=answers), answers, places)
        words = {f"key{i}": word for i, word in enumerate(all_keys)}
        words |= {f"value{i}": word for i, word in enumerate(all_values)}
        items += _pair(
            f"long_range.{len(items) // 2:04d}.recall",
            "recall",
            template,
            words,
            queries=[f"key{place}" for place in places],
            answers=[f"value{place}" for place in places],
        )
    return items


def _with_at(others: Sequence[str], chosen: Sequence[str], places: Sequence[int]) -> list[str]:
    """The words of `others` in order, with each of `chosen` at its place in the result."""
    words = list(others)
    for place, word in sorted(zip(places, chosen, strict=True)):
        words.insert(place, word)
    return words


def _pair(
    pair_id: str,
    template_id: str,
    template: str,
    words: Mapping[str, str],
    *,
    queries: Sequence[str],
    answers: Sequence[str],
) -> tuple[Item, Item]:
    """The two directions; `queries` and `answers` name slots, the earlier place first."""
    asked = [words[slot] for slot in queries]
    (early_text, early), (late_text, late) = (
        fill(template, {**words, "query": word}) for word in asked
    )
    return both_directions(
        Prompt(
            text=early_text,
            answer=f" {words[answers[0]]}",
            foil=f" {words[answers[1]]}",
            source=early[answers[0]],
            distractors=early[answers[1]],
            labels={"source_slot": "first"},
        ),
        Prompt(
            text=late_text,
            answer=f" {words[answers[1]]}",
            foil=f" {words[answers[0]]}",
            source=late[answers[1]],
            distractors=late[answers[0]],
            labels={"source_slot": "second"},
        ),
        pair_id=pair_id,
        task="long_range",
        template_id=template_id,
        clusters=(f"key1:{asked[0]}", f"key2:{asked[1]}"),
    )


FAMILIES = (Family(name="long_range", corruptions=(Corruption.ROLE_FLIP,), generate=generate),)
