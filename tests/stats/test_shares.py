"""Shares of what a reference removes: the delta method as second route, and coverage."""

import numpy as np
import pytest

from interp.stats import ratio_interval
from interp.stats.shares import bounded, drawn_shares
from tests.stats.designs import crossed, noise

RNG_SEED = 0


def parts_and_whole(rng, ways, true=(1.0, 0.6, 0.3)):
    """Orders that capture so much of a whole that differs from item to item."""
    whole = 4 + noise(rng, ways, 2, spread=0.5)
    parts = whole[:, None] * np.array(true)[None, :, None]
    return parts + 0.5 * noise(rng, ways, 6).reshape(len(whole), 3, 2), whole


@pytest.mark.parametrize("ways", [[np.repeat(np.arange(24), 4)], crossed(24, 16)])
def test_shares_and_their_bounds_are_those_of_the_delta_method(ways):
    parts, whole = parts_and_whole(np.random.default_rng(1), ways)
    drawn = drawn_shares(parts, whole, ways, n_boot=2000, seed=RNG_SEED)
    found = bounded(drawn, ways)
    for order, k in np.ndindex(3, 2):
        expected = ratio_interval(parts[:, [order], k], whole[:, k], ways)
        assert found.estimate[order, k] == pytest.approx(expected.estimate[0])
        half = found.high[order, k] - found.estimate[order, k]
        # the pigeonhole bootstrap counts the noise of single items three times
        assert half == pytest.approx(expected.high[0] - expected.estimate[0], rel=0.25)


def test_a_difference_of_shares_has_the_interval_of_the_difference():
    """Parts that move together differ with more certainty than either is known."""
    rng = np.random.default_rng(2)
    ways = [np.arange(40)]
    whole = np.full((40, 1), 5.0)
    common = rng.normal(size=(40, 1))
    parts = np.stack([2 + common, 3 + common + 0.01 * rng.normal(size=(40, 1))], axis=1)
    drawn = drawn_shares(parts, whole, ways, n_boot=500, seed=RNG_SEED)
    apart, each = bounded(drawn[:, 1] - drawn[:, 0], ways), bounded(drawn, ways)
    assert apart.estimate[0] == pytest.approx(0.2, abs=0.001)
    assert apart.high[0] - apart.low[0] < 0.05 * (each.high[0, 0] - each.low[0, 0])


def test_the_whole_captures_all_of_itself_in_every_draw():
    _, whole = parts_and_whole(np.random.default_rng(3), [np.arange(16)])
    drawn = drawn_shares(whole[:, None], whole, [np.arange(16)], n_boot=50, seed=RNG_SEED)
    np.testing.assert_allclose(drawn, 1)


def test_intervals_of_the_mean_share_cover_it():
    """In a crossed design of 12 × 12 the true areas are in at least nine of ten intervals."""
    ways, rng = crossed(12, 12), np.random.default_rng(4)
    inside, naive = [], []
    for seed in range(60):
        parts, whole = parts_and_whole(rng, ways)
        for clusters, kept in ((ways, inside), ([np.arange(144)], naive)):
            drawn = drawn_shares(parts, whole, clusters, n_boot=200, seed=seed).mean(axis=2)
            found = bounded(drawn, clusters)
            kept.append((found.low < [1.0, 0.6, 0.3]) & (found.high > [1.0, 0.6, 0.3]))
    assert np.mean(inside) >= 0.9
    assert np.mean(naive) < 0.85


def test_values_that_are_missing_are_refused():
    with pytest.raises(ValueError) as error:
        drawn_shares(
            np.full((2, 1, 1), np.nan), np.ones((2, 1)), [np.arange(2)], n_boot=9, seed=RNG_SEED
        )
    assert str(error.value) == (
        "parts must be finite, got 2 of 2 that are NaN or infinite; "
        "leave out items, or heads, on which they are undefined."
    )
