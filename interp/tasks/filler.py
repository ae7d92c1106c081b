"""Filler: sentences that say nothing about the question, to a given number of tokens."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from random import Random
from typing import Any

from interp.tasks.lexicon import Record, Text, load

_LAST_STRETCH = 12
"""From this many tokens on, no more is left to chance: what follows brings the exact number."""


class _Pool(Record):
    subjects: tuple[Text, ...]
    verbs: tuple[Text, ...]
    ends: tuple[Text, ...]
    short: tuple[Text, ...]


class _Data(Record):
    weather: _Pool
    haystack: _Pool


@dataclass(frozen=True)
class Filler:
    """The sentences of one pool of `data/filler.toml`, as a tokenizer cuts them."""

    pool: _Pool
    tokenizer: Any

    def text(self, n_tokens: int, *, key: str, attempt: int = 0) -> str:
        """Sentences of `n_tokens` in all behind a full stop, each with its leading space.

        A key is a stream of sentences: with the same key a longer filler begins as a shorter one
        does, except for the last sentence or two, which bring the exact number; another attempt
        ends with others.

        Raises:
            ValueError: no sentences of the pool have that many tokens together.
        """
        taken: list[str] = []
        left = n_tokens
        stream = self.sentences(key)
        while left > _LAST_STRETCH:
            sentence = next(stream)
            if left - self._n_tokens(sentence) < min(self._finishes):
                break
            taken.append(sentence)
            left -= self._n_tokens(sentence)
        if left and left not in self._finishes:
            raise ValueError(
                f"no sentences of the filler have {left} tokens together, and {n_tokens} are to "
                "be filled; choose another distance, or add short sentences to data/filler.toml."
            )
        if left:
            taken.append(Random(f"{key}.{n_tokens}.{attempt}").choice(self._finishes[left]))
        return "".join(f" {sentence}" for sentence in taken)

    def sentences(self, key: str) -> Iterator[str]:
        """Sentences without end, none with the subject of the one before; a key is a stream."""
        pool, last, rng = self.pool, "", Random(key)
        while True:
            subject = rng.choice([each for each in pool.subjects if each != last])
            yield f"{subject} {rng.choice(pool.verbs)} {rng.choice(pool.ends)}."
            last = subject

    @cached_property
    def _finishes(self) -> dict[int, list[str]]:
        """One or two short sentences, by their number of tokens."""
        found: dict[int, list[str]] = {}
        for first in self.pool.short:
            found.setdefault(self._n_tokens(first), []).append(first)
        for first in self.pool.short:
            for second in self.pool.short:
                if first.split()[0].strip(".") != second.split()[0].strip("."):
                    n_tokens = self._n_tokens(first) + self._n_tokens(second)
                    found.setdefault(n_tokens, []).append(f"{first} {second}")
        return found

    def _n_tokens(self, sentence: str) -> int:
        if sentence not in self._counts:
            behind = self.tokenizer(f"So. {sentence}", add_special_tokens=False)["input_ids"]
            self._counts[sentence] = len(behind) - self._n_before
        return self._counts[sentence]

    @cached_property
    def _n_before(self) -> int:
        return len(self.tokenizer("So.", add_special_tokens=False)["input_ids"])

    @cached_property
    def _counts(self) -> dict[str, int]:
        return {}


@lru_cache(maxsize=8)  # a sentence is counted once for a tokenizer, not once for every family
def filler_of(name: str, tokenizer: Any) -> Filler:
    """The pool of that name, `"weather"` or `"haystack"`."""
    return Filler(getattr(load("filler.toml", _Data), name), tokenizer)
