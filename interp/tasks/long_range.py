"""Long-range patterns: the word asked decides which of two earlier places holds the answer."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from random import Random
from typing import Any

from interp.items import Corruption, Item, Prompt
from interp.tasks.design import Deck, balanced_cells, crossed
from interp.tasks.family import Family
from interp.tasks.frames import Pair, Split, half_of, in_halves
from interp.tasks.lexicon import Record, Text, load, single_token
from interp.tasks.wording import fill

_N_BLOCK = 12
_N_ENTRIES = 4
_SLOTS = ("first", "second")


class _Wording(Record):
    id: Text
    text: Text


class _Repeat(Record):
    wordings: tuple[_Wording, ...]
    words: tuple[str, ...]


class _Recall(Record):
    wordings: tuple[_Wording, ...]
    entry: str
    separator: str
    keys: tuple[str, ...]
    values: tuple[str, ...]


class _Data(Record):
    repeat: _Repeat
    recall: _Recall


def generate(tokenizer: Any, n_pairs: int, seed: int, corruption: Corruption) -> list[Item]:
    """Pairs that differ in the word asked: half of them `repeat`, half `recall`.

    Balanced in each half of the items: the template, and within it the two places that a pair asks
    for.
    """
    data = load("long_range.toml", _Data)
    rng = Random(seed)

    def pairs(split: Split, n_of_half: int) -> Iterator[Pair]:
        n_recall = n_of_half // 2
        yield from _repeat(data.repeat, split, tokenizer, n_of_half - n_recall, rng)
        yield from _recall(data.recall, split, tokenizer, n_recall, rng)

    return in_halves("long_range", n_pairs, corruption, pairs)


def _repeat(
    data: _Repeat, split: Split, tokenizer: Any, n_pairs: int, rng: Random
) -> Iterator[Pair]:
    """A block of words twice, then one of them: the answer is the word that followed, twice.

    The two words asked are not neighbours, so no answer is itself a word asked; and neither is the
    block's last, which is followed by two different words.
    """
    own = half_of(data.words, split)
    lexicon = single_token(own, tokenizer, slot=f"words, {split}", at_least=_N_BLOCK)
    rng.shuffle(lexicon)
    deck = Deck(lexicon, rng)
    pairs_of_places = [(i, j) for i, j in combinations(range(_N_BLOCK - 1), 2) if j - i > 1]
    cells = balanced_cells(n_pairs, rng, half_of(data.wordings, split), pairs_of_places)
    block_of_slots = " ".join(f"{{word{i}}}" for i in range(_N_BLOCK))

    for (wording, places), asked in zip(cells, crossed(lexicon, lexicon, n_pairs), strict=True):
        block = _with_at(deck.deal(_N_BLOCK - 2, beside=asked), asked, places)
        yield _pair(
            wording.id,
            wording.text.replace("{block}", block_of_slots),
            {f"word{i}": word for i, word in enumerate(block)},
            queries=[f"word{place}" for place in places],
            answers=[f"word{place + 1}" for place in places],
        )


def _recall(
    data: _Recall, split: Split, tokenizer: Any, n_pairs: int, rng: Random
) -> Iterator[Pair]:
    """A list of keys with their values, then one of the keys: the answer is its value."""
    keys = single_token(half_of(data.keys, split), tokenizer, slot=f"keys, {split}")
    values = single_token(half_of(data.values, split), tokenizer, slot=f"values, {split}")
    rng.shuffle(keys)
    rng.shuffle(values)
    key_deck, value_deck = Deck(keys, rng), Deck(values, rng)
    places_asked = list(combinations(range(_N_ENTRIES), 2))
    cells = balanced_cells(n_pairs, rng, half_of(data.wordings, split), places_asked)
    entries = data.separator.join(
        data.entry.replace("{key}", f"{{key{i}}}").replace("{value}", f"{{value{i}}}")
        for i in range(_N_ENTRIES)
    )
    for (wording, places), asked, answers in zip(
        cells, crossed(keys, keys, n_pairs), crossed(values, values, n_pairs), strict=True
    ):
        all_keys = _with_at(key_deck.deal(_N_ENTRIES - 2, beside=asked), asked, places)
        all_values = _with_at(value_deck.deal(_N_ENTRIES - 2, beside=answers), answers, places)
        words = {f"key{i}": word for i, word in enumerate(all_keys)}
        words |= {f"value{i}": word for i, word in enumerate(all_values)}
        yield _pair(
            wording.id,
            wording.text.replace("{entries}", entries),
            words,
            queries=[f"key{place}" for place in places],
            answers=[f"value{place}" for place in places],
        )


def _with_at(others: Sequence[str], chosen: Sequence[str], places: Sequence[int]) -> list[str]:
    """The words of `others` in order, with each of `chosen` at its place in the result."""
    words = list(others)
    for place, word in sorted(zip(places, chosen, strict=True)):
        words.insert(place, word)
    return words


def _pair(
    template_id: str,
    template: str,
    words: Mapping[str, str],
    *,
    queries: Sequence[str],
    answers: Sequence[str],
) -> Pair:
    """Both prompts; `queries` and `answers` name slots, the earlier place first."""
    asked = [words[slot] for slot in queries]
    prompts = []
    for word, own, other, slot in zip(asked, answers, answers[::-1], _SLOTS, strict=True):
        text, places = fill(template, {**words, "query": word})
        prompts.append(
            Prompt(
                text=text,
                answer=f" {words[own]}",
                foil=f" {words[other]}",
                source=places[own],
                distractors=places[other],
                labels={"source_slot": slot},
            )
        )
    return Pair(prompts[0], prompts[1], template_id, (f"key1:{asked[0]}", f"key2:{asked[1]}"))


FAMILIES = (Family(name="long_range", corruptions=(Corruption.ROLE_FLIP,), generate=generate),)
