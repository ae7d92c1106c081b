import re

import numpy as np
import pytest

from interp import stats
from tests.stats.designs import crossed, noise

RNG_SEED = 0


def t_of_draw(values, ways, drawn):
    """t of `mean_interval`, after copies of the drawn clusters were written out one by one.

    Each copy of a cluster is a cluster by itself; an item appears once for every copy of both.
    """
    rows, labels = [], [[] for _ in ways]
    copies = [np.repeat(np.arange(len(times)), times) for times in drawn]
    places = np.meshgrid(*(np.arange(len(each)) for each in copies), indexing="ij")
    for place in zip(*(grid.ravel() for grid in places), strict=True):
        here = np.ones(len(values), dtype=bool)
        for way, copied, number in zip(ways, copies, place, strict=True):
            here &= way == copied[number]
        rows.append(values[here])
        for each, number in zip(labels, place, strict=True):
            each.append(np.full(here.sum(), number))
    interval = stats.mean_interval(np.concatenate(rows), [np.concatenate(each) for each in labels])
    return interval.estimate / interval.se


@pytest.mark.parametrize("n_ways", [1, 2])
def test_draws_are_resamples_written_out(n_ways):
    """The same draws, each made into a table of items with new clusters; unequal ones too."""
    rng = np.random.default_rng(30)
    kept = rng.permutation(42)[:35]
    ways = [way[kept] for way in crossed(7, 6)][:n_ways]
    values = noise(rng, ways, n_heads=4, spread=0.5) + np.array([1.5, -1, 0.4, 0])
    test = stats.bootstrap_t(values, ways, n_draws=200, seed=RNG_SEED)

    again = np.random.default_rng(RNG_SEED)
    counts = [way.max() + 1 for way in ways]
    drawn = [again.multinomial(n, np.full(n, 1 / n), size=200) for n in counts]
    centred = values - values.mean(0)
    largest = [
        np.abs(t_of_draw(centred, ways, [times[index] for times in drawn])).max()
        for index in range(200)
    ]
    interval = stats.mean_interval(values, ways)
    t = interval.estimate / interval.se
    np.testing.assert_allclose(test.statistic, t)
    expected = (1 + (np.array(largest)[:, None] >= np.abs(t)).sum(0)) / 201
    np.testing.assert_allclose(test.p_value, expected)
    assert test.smallest_p == 1 / 201
    assert 0 < expected.min() < 0.2 < expected.max()


def test_a_head_of_zeros_stays_at_one_and_shapes_stay():
    values = np.random.default_rng(31).normal(0.5, 1, (16, 2, 3)).astype(np.float32)
    values[:, 0, 0] = 0
    test = stats.bootstrap_t(values, [np.arange(16)], n_draws=99, seed=RNG_SEED)
    assert test.p_value.shape == test.statistic.shape == (2, 3)
    assert (test.statistic[0, 0], test.p_value[0, 0]) == (0, 1)


def test_chunks_change_nothing(monkeypatch):
    ways = crossed(8, 5)
    values = noise(np.random.default_rng(32), ways, n_heads=7)
    whole = stats.bootstrap_t(values, ways, n_draws=300, seed=RNG_SEED).p_value
    monkeypatch.setattr("interp.stats.bootstrap.CHUNK_NUMBERS", 500)
    pieces = stats.bootstrap_t(values, ways, n_draws=300, seed=RNG_SEED).p_value
    np.testing.assert_array_equal(whole, pieces)


def test_seeds_reproduce_and_inputs_stay():
    ways = crossed(8, 5)
    values = noise(np.random.default_rng(33), ways, n_heads=7) + 0.3
    before = values.copy()
    one, same, other = (
        stats.bootstrap_t(values, ways, n_draws=50, seed=seed).p_value.tolist()
        for seed in (1, 1, 2)
    )
    assert one == same != other
    np.testing.assert_array_equal(values, before)


def test_draws_without_items_are_left_out():
    """Items on a diagonal: a draw of both ways often holds none, and then says nothing."""
    ways = [np.arange(3), np.arange(3)]
    test = stats.bootstrap_t(np.array([[1.0], [2.0], [4.0]]), ways, n_draws=500, seed=RNG_SEED)
    assert 1 / 501 < test.smallest_p < 1 / 300
    assert test.smallest_p <= test.p_value[0] <= 1


def test_bad_input_is_one_sentence():
    message = "n_draws must be at least 1, got 0; 9999 is usual."
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        stats.bootstrap_t(np.ones((2, 1)), [np.arange(2)], n_draws=0, seed=RNG_SEED)
