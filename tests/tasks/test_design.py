import os
import subprocess
import sys
from collections import Counter
from itertools import combinations, product
from random import Random

import pytest

from interp.tasks.design import Deck, balanced_cells, crossed, crossed_at, spread

FACTORS = ("abcd", (0, 1), "stuvwxyz")


@pytest.mark.parametrize("n_rounds", [1, 2])
def test_a_full_design_uses_every_cell_equally(n_rounds: int) -> None:
    cells = balanced_cells(64 * n_rounds, Random(0), *FACTORS)
    assert Counter(cells) == dict.fromkeys(product(*FACTORS), n_rounds)


@pytest.mark.parametrize("seed", range(5))
def test_half_a_design_keeps_every_level_within_one(seed: int) -> None:
    cells = balanced_cells(32, Random(seed), *FACTORS)
    assert len(set(cells)) == 32
    for factor, levels in enumerate(FACTORS):
        counts = Counter(cell[factor] for cell in cells)
        assert all(abs(counts[level] - 32 / len(levels)) <= 1 for level in levels)


def test_cells_come_in_an_order_that_the_seed_decides() -> None:
    first, again, other = (balanced_cells(64, Random(seed), *FACTORS) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_crossing_a_list_with_itself_gives_every_pair_of_two_once() -> None:
    words = ["a", "b", "c", "d"]
    pairs = crossed(words, words, 12)
    assert sorted(pairs) == sorted((x, y) for x, y in product(words, words) if x != y)
    assert Counter(x for x, _ in pairs[:4]) == Counter(y for _, y in pairs[:4]) == Counter(words)


def test_crossing_lists_of_unequal_length_uses_each_word_evenly() -> None:
    pairs = crossed(list("abcde"), list("uvw"), 30)
    assert set(Counter(x for x, _ in pairs).values()) == {6}
    assert all(abs(count - 10) <= 1 for count in Counter(y for _, y in pairs).values())


def test_a_deck_deals_evenly_and_never_twice_in_a_hand() -> None:
    deck = Deck(list("abcdefgh"), Random(3))
    hands = [[*deck.deal(3, beside=beside), *beside] for beside in combinations("abcdefgh", 2)]
    assert all(len(set(hand)) == 5 for hand in hands)
    counts = Counter(word for hand in hands for word in hand)
    assert sum(counts.values()) == 28 * 5
    assert max(counts.values()) - min(counts.values()) <= 1


def test_the_design_does_not_depend_on_pythons_hash() -> None:
    code = (
        "from random import Random; from interp.tasks.design import Deck, balanced_cells;"
        "print(balanced_cells(20, Random(0), 'abc', 'xy'), Deck('abcdefgh', Random(0)).deal(5))"
    )
    outputs = [
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert outputs[0] == outputs[1] != ""


def test_words_are_spread_over_cells_levels_and_all() -> None:
    cells = [(frame, level) for frame in "ab" for level in (0, 1)] * 4
    words = spread(cells, "wxyz", Random(0))
    assert set(Counter(zip(cells, words, strict=True)).values()) == {1}
    assert set(
        Counter((cell[1], word) for cell, word in zip(cells, words, strict=True)).values()
    ) == {2}
    assert set(Counter(words).values()) == {4}


def test_words_say_nothing_about_the_level_at_which_they_stand() -> None:
    levels = [(0, 1), (1, 0)] * 16
    pairs = crossed_at(levels, "abcdefgh", Random(1))
    assert len(set(pairs)) == 32  # of 56 pairs of two
    assert all(first != second for first, second in pairs)
    for place in (0, 1):
        at_level = Counter((at[place], pair[place]) for at, pair in zip(levels, pairs, strict=True))
        assert len(at_level) == 16
        assert all(1 <= count <= 3 for count in at_level.values())


def test_two_words_come_twice_only_when_all_have_come() -> None:
    pairs = crossed_at([(0, 0)] * 12, "abcd", Random(0))
    assert sorted(pairs) == sorted((x, y) for x, y in product("abcd", repeat=2) if x != y)
