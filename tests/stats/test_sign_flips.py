"""The level that chance reaches under sign flips: by hand, by enumeration, by simulation."""

from itertools import product

import numpy as np
import pytest

from interp import stats


@pytest.mark.parametrize(
    ("passed_in", "own", "largest"),
    [(0.05, [6, 3], 6), (0.125, [4, 3], 4), (0.25, [4, 3], 4), (0.5, [-2, -3], 3)],
)
def test_two_heads_on_three_clusters_by_hand(passed_in, own, largest):
    """Sums of 1, 1 and 4 under eight patterns: ±6, ±4 twice, ±2; of 3, 0 and 0: ±3.

    The larger of the two, pattern by pattern: 6 3 4 3 4 −3 2 −3. Means are a third of them.
    """
    values = np.array([[1.0, 3.0], [1.0, 0.0], [4.0, 0.0]])
    null = stats.flip_null(values, [np.arange(3)], passed_in=passed_in, seed=0)
    np.testing.assert_allclose(null.own, np.array(own) / 3)
    assert null.largest == pytest.approx(largest / 3)


def enumerated(values, way, passed_in):
    """Every pattern of signs, item by item."""
    labels = np.unique(way)
    means = np.array(
        [
            (values * np.array([signs[np.searchsorted(labels, each)] for each in way])[:, None])
            .mean(0)
            for signs in product((1, -1), repeat=len(labels))
        ]
    )  # fmt: skip
    place = int(np.ceil((1 - passed_in) * len(means))) - 1
    return np.sort(means, axis=0)[place], np.sort(means.max(1))[place]


def test_in_a_crossed_design_the_higher_of_both_ways_counts():
    rng = np.random.default_rng(3)
    values = rng.normal(size=(24, 5)) + 0.3
    ways = [np.repeat(np.arange(6), 4), np.tile(np.arange(8), 3)]
    null = stats.flip_null(values.reshape(24, 5, 1), ways, seed=0)
    of_ways = [enumerated(values, way, 0.05) for way in ways]
    np.testing.assert_allclose(null.own[:, 0], np.max([own for own, _ in of_ways], axis=0))
    assert null.largest == pytest.approx(max(largest for _, largest in of_ways))
    assert (null.own[:, 0] <= null.largest).all()


def test_the_best_of_forty_heads_passes_by_chance_as_often_as_promised():
    """Without an effect the best passes `largest` in 5 % of sets, some head its own in most."""
    rng = np.random.default_rng(4)
    frames = np.repeat(np.arange(20), 2)
    n_sets, best, own = 400, 0, 0
    for seed in range(n_sets):
        values = rng.normal(size=(20, 40))[frames] + rng.normal(size=(40, 40))
        means = values.mean(0)
        null = stats.flip_null(values, [frames], n_flips=999, seed=seed)
        best += means.max() > null.largest
        own += (means > null.own).any()
    assert abs(best / n_sets - 0.05) < 3 * np.sqrt(0.05 * 0.95 / n_sets)
    assert own / n_sets > 0.7  # 1 − .95 ** 40 = .87


def test_bad_input_is_refused():
    values = np.ones((4, 2))
    with pytest.raises(ValueError) as error:
        stats.flip_null(values, [np.arange(4)], n_flips=0, seed=0)
    assert str(error.value) == "n_flips must be at least 1, got 0; 9999 is usual."
    values[0, 0] = np.nan
    with pytest.raises(ValueError, match=r"^values must be finite, got 1 of 8"):
        stats.flip_null(values, [np.arange(4)], seed=0)
