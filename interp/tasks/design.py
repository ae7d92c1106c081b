"""Balanced designs: which cell of the design, and which lexemes, each pair gets."""

from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import combinations, product
from random import Random
from typing import Any, TypeVar

First = TypeVar("First")
Second = TypeVar("Second")


def balanced_cells(n: int, rng: Random, *factors: Sequence[Any]) -> list[tuple[Any, ...]]:
    """`n` cells of the crossed design of `factors`, each cell one level of every factor.

    Cells are used exactly equally often when `n` is a multiple of their number. Otherwise no cell
    is used twice as long as one is unused, and levels, pairs of levels and so on are kept even by
    taking, each time, the cell whose own have been used least.
    """
    cells = list(product(*(range(len(levels)) for levels in factors)))
    sizes = [len(factors), *range(1, len(factors))]
    margins = [list(combinations(range(len(factors)), size)) for size in sizes]
    used: Counter[tuple[tuple[int, int], ...]] = Counter()

    def in_margin(cell: tuple[int, ...], margin: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
        return tuple((factor, cell[factor]) for factor in margin)

    def burden(cell: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(
            sum(used[in_margin(cell, margin)] for margin in of_size) for of_size in margins
        )

    chosen = []
    for _ in range(n):
        rng.shuffle(cells)
        cell = min(cells, key=burden)
        used.update(in_margin(cell, margin) for of_size in margins for margin in of_size)
        chosen.append(cell)
    return [
        tuple(levels[index] for levels, index in zip(factors, cell, strict=True)) for cell in chosen
    ]


def crossed(first: Sequence[First], second: Sequence[Second], n: int) -> list[tuple[First, Second]]:
    """`n` pairs, one lexeme from each list: every round uses each of `first` once, shifted.

    The same list may be given twice: no lexeme then meets itself. No pair comes twice before all
    others have come. Give the lists in random order.
    """
    return [
        (
            first[i % len(first)],
            second[(i + 1 + (i // len(first)) % (len(second) - 1)) % len(second)],
        )
        for i in range(n)
    ]


class Deck:
    """Deals words so that all are used as often as each other."""

    def __init__(self, words: Sequence[str], rng: Random) -> None:
        self._words = list(words)
        self._rng = rng
        self._used: Counter[str] = Counter()

    def deal(self, n: int, *, beside: Sequence[str] = ()) -> list[str]:
        """The `n` words used least so far, none of them in `beside`; those count as used too."""
        self._rng.shuffle(self._words)
        rest = [word for word in self._words if word not in beside]
        dealt = sorted(rest, key=self._used.__getitem__)[:n]
        self._used.update([*dealt, *beside])
        return dealt


def spread(
    cells: Sequence[tuple[Hashable, ...]], words: Sequence[First], rng: Random
) -> list[First]:
    """A word for each cell, used evenly in each cell, each level of a factor, and over all.

    Where the three cannot all be, cells come first: no word comes twice in one while others can.
    """
    order = list(range(len(words)))
    used: Counter[tuple[Hashable, ...]] = Counter()
    chosen = []
    for cell in cells:
        levels = list(enumerate(cell))

        def burden(word: int, cell: tuple[Hashable, ...] = cell, levels: Any = levels) -> list[int]:
            of_levels = sum(used[*level, word] for level in levels)
            return [used["cell", cell, word], of_levels, used["all", word]]

        rng.shuffle(order)
        word = min(order, key=burden)
        used.update([("cell", cell, word), ("all", word), *((*level, word) for level in levels)])
        chosen.append(words[word])
    return chosen


def crossed_at(
    levels: Sequence[tuple[int, int]], words: Sequence[First], rng: Random
) -> list[tuple[First, First]]:
    """Two different words for each pair of levels, those at which the first and the second stand.

    In either place each word is used evenly at each level, so that it says nothing about the level;
    and no two come twice in one order while others can.
    """
    order = list(range(len(words)))
    used: Counter[tuple[int, ...]] = Counter()
    both: Counter[tuple[int, int]] = Counter()
    chosen = []
    for at in levels:
        rng.shuffle(order)
        first = _least(order, [(used[0, at[0], word], used[0, word]) for word in order])
        rest = [word for word in order if word != first]
        burdens = [(both[first, word], used[1, at[1], word], used[1, word]) for word in rest]
        second = _least(rest, burdens)
        both[first, second] += 1
        for place, word in enumerate((first, second)):
            used.update([(place, at[place], word), (place, word)])
        chosen.append((words[first], words[second]))
    return chosen


def _least(words: Sequence[int], burdens: Sequence[tuple[int, ...]]) -> int:
    """The first word of the least burden."""
    return words[min(range(len(words)), key=burdens.__getitem__)]
