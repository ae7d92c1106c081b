from itertools import chain, combinations, product

import numpy as np
import pytest

from interp import stats
from tests.stats.designs import cell_labels, crossed, noise, sandwich

RNG_SEED = 0


def test_holm_by_hand():
    p_values = np.array([[0.01, 0.04], [0.03, 0.005]])
    np.testing.assert_allclose(stats.adjusted_p(p_values), [[0.03, 0.06], [0.06, 0.02]])


def test_holm_is_the_closed_bonferroni_test():
    """A head's p is the largest, over all sets that hold it, of set size × smallest p."""
    p_values = np.random.default_rng(8).uniform(0, 0.4, 6)
    sets = chain.from_iterable(combinations(range(6), size) for size in range(1, 7))
    by_set = {heads: min(1, len(heads) * min(p_values[list(heads)])) for heads in sets}
    expected = [max(p for heads, p in by_set.items() if head in heads) for head in range(6)]
    np.testing.assert_allclose(stats.adjusted_p(p_values), expected)


def test_holm_keeps_the_family_wise_error():
    p_values = np.random.default_rng(9).uniform(size=(2_000, 100))
    error = np.mean([stats.adjusted_p(row).min() < 0.05 for row in p_values])
    assert 0.035 < error < 0.05 + 3 * 0.005
    assert (p_values.min(axis=1) < 0.05).mean() > 0.9


def test_sign_flips_by_hand():
    """1, 1 and 4: t = 2 / 1; of 8 sign patterns only the two that leave the signs alike reach it.

    −1 1 4 has mean 4/3 and t = .92, 1 1 −4 has −2/3 and t = .4. A head of zeros stays at p = 1, and
    one that never varies ties with nothing.
    """
    values = np.array([[1.0, 0.0, 1.0], [1.0, 0.0, 1.0], [4.0, 0.0, 1.0]])
    test = stats.sign_flip_t(values[:, :2], [np.arange(3)], seed=RNG_SEED)
    np.testing.assert_allclose(test.statistic, [2, 0])
    np.testing.assert_array_equal(test.p_value, [0.25, 1])
    assert test.smallest_p == 0.25
    constant = stats.sign_flip_t(values[:, 2:], [np.arange(3)], seed=RNG_SEED)
    assert (constant.statistic[0], constant.p_value[0]) == (np.inf, 0.25)


def absolute_t(values: np.ndarray, ways: list[np.ndarray]) -> np.ndarray:
    residuals = values - values.mean(0)
    variances = [sandwich(residuals, way) for way in ways]
    if len(ways) == 2:
        variances.append(sum(variances) - sandwich(residuals, cell_labels(*ways)))
    return np.abs(values.mean(0)) / np.sqrt(np.max(variances, axis=0))


@pytest.mark.parametrize("n_ways", [1, 2])
def test_sign_flips_count_every_sign_pattern(n_ways):
    rng = np.random.default_rng(10)
    kept = rng.permutation(20)[:17]
    ways = [way[kept] for way in crossed(5, 4)][:n_ways]
    values = noise(rng, ways, n_heads=6, spread=0.3) + np.array([2, -2, 1, 0.5, 0, 4])
    p_values = []
    for way in ways:
        patterns = product([-1, 1], repeat=way.max() + 1)
        flipped = [np.array(signs)[way][:, None] * values for signs in patterns]
        largest = np.array([absolute_t(each, ways).max() for each in flipped])
        p_values.append((largest[:, None] >= absolute_t(values, ways) - 1e-9).mean(0))
    test = stats.sign_flip_t(values, ways, seed=RNG_SEED)
    np.testing.assert_allclose(test.p_value, np.max(p_values, axis=0))
    np.testing.assert_allclose(np.abs(test.statistic), absolute_t(values, ways))


def test_patterns_that_tie_count():
    """Of .1, .2, .3 and 0, the sign of 0 makes no difference: 4 of 16 patterns reach t."""
    values = np.array([[0.1], [0.2], [0.3], [0.0]])
    assert stats.sign_flip_t(values, [np.arange(4)], seed=RNG_SEED).p_value[0] == 0.25


def test_sampled_flips_agree_with_all_flips():
    values = np.random.default_rng(11).normal(0.35, 1, (16, 2, 2))
    sampled = stats.sign_flip_t(values, [np.arange(16)], n_flips=5_000, seed=RNG_SEED)
    enumerated = stats.sign_flip_t(values, [np.arange(16)], n_flips=2**15, seed=RNG_SEED)
    np.testing.assert_allclose(sampled.p_value, enumerated.p_value, atol=4 * 0.5 / np.sqrt(5_000))
    assert (sampled.smallest_p, enumerated.smallest_p) == (1 / 5_001, 2 / 2**16)


def any_significant(*tests: stats.MaxT) -> bool:
    return bool(np.max([test.p_value for test in tests], axis=0).min() < 0.05)


def test_sign_flips_keep_the_family_wise_error_of_correlated_heads():
    rng = np.random.default_rng(12)
    clusters, with_clusters, without = [np.repeat(np.arange(16), 4)], [], []
    mixing = np.linalg.cholesky(0.5 + 0.5 * np.eye(100)).T
    for seed in range(300):
        values = noise(rng, clusters, n_heads=100) @ mixing
        with_clusters.append(
            any_significant(stats.sign_flip_t(values, clusters, n_flips=499, seed=seed))
        )
        without.append(
            any_significant(stats.sign_flip_t(values, [np.arange(64)], n_flips=99, seed=seed))
        )
    assert 0.015 < np.mean(with_clusters) < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300)
    assert np.mean(without) > 0.3


def test_sign_flips_keep_the_family_wise_error_of_a_crossed_design():
    """The larger of two one-way tests does not: each takes the other way's effect for a mean."""
    rng = np.random.default_rng(13)
    ways, two_way, larger = crossed(16, 16), [], []
    for seed in range(200):
        values = noise(rng, ways, n_heads=30)
        two_way.append(any_significant(stats.sign_flip_t(values, ways, n_flips=199, seed=seed)))
        one_way = [stats.sign_flip_t(values, [way], n_flips=199, seed=seed) for way in ways]
        larger.append(any_significant(*one_way))
    assert np.mean(two_way) < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)
    assert np.mean(larger) > 0.1


@pytest.mark.parametrize("ways", [[np.repeat(np.arange(16), 8)], crossed(16, 16)])
def test_sign_flips_find_the_planted_heads_and_no_others(ways):
    values = noise(np.random.default_rng(14), ways, n_heads=270, spread=0.3)
    planted = [5, 100, 269]
    values[:, planted] += [0.8, -0.8, 1.2]
    test = stats.sign_flip_t(values, ways, seed=RNG_SEED)
    assert np.flatnonzero(test.p_value < 0.05).tolist() == planted
    assert np.sign(test.statistic[planted]).tolist() == [1, -1, 1]


@pytest.mark.parametrize("test", [stats.sign_flip_t, stats.bootstrap_t])
@pytest.mark.parametrize("ways", [[np.arange(20)], crossed(16, 8)])
def test_a_head_is_significant_when_its_t_is_above_the_critical_one(test, ways):
    rng = np.random.default_rng(15)
    values = noise(rng, ways, n_heads=200, spread=0.2) + np.linspace(0, 3, 200)
    found = test(values, ways, seed=RNG_SEED)
    np.testing.assert_array_equal(found.p_value <= 0.05, np.abs(found.statistic) > found.critical)
    assert 0 < (found.p_value <= 0.05).mean() < 1


def test_no_t_is_critical_where_patterns_are_too_few():
    found = stats.sign_flip_t(np.ones((4, 1)), [np.arange(4)], seed=RNG_SEED)
    assert (found.smallest_p, found.critical) == (0.125, np.inf)


def test_tests_that_find_only_huge_means_say_so():
    """Two-sided t of 15 degrees at .05 is 2.13, .53 of √16; of 270 heads it is far higher."""
    values = np.random.default_rng(16).exponential(size=(16, 270)) - 1
    clusters = [np.arange(16)]
    one = stats.bootstrap_t(values[:, :1], clusters, n_draws=999, seed=RNG_SEED)
    assert stats.reach_note(one, clusters) == ""
    many = stats.bootstrap_t(values, clusters, n_draws=999, seed=RNG_SEED)
    assert stats.reach_note(many, clusters) == (
        "with 16 clusters a head is significant among 270 only if its mean is above "
        f"{many.critical / 4:.1f} standard deviations of a cluster; more clusters are needed."
    )
    assert many.critical / 4 > 2


def test_flips_where_the_design_is_crossed_and_draws_where_it_is_not():
    ways = crossed(16, 8)
    values = noise(np.random.default_rng(17), ways, n_heads=20, spread=0.3) + 0.3
    for clusters, test in ((ways, stats.sign_flip_t), (ways[:1], stats.bootstrap_t)):
        found, expected = (each(values, clusters, seed=RNG_SEED) for each in (stats.max_t, test))
        np.testing.assert_array_equal(found.p_value, expected.p_value)
    assert not np.array_equal(
        found.p_value, stats.sign_flip_t(values, ways[:1], seed=RNG_SEED).p_value
    )


def test_skewed_clusters_of_one_way_do_not_pass_for_effects():
    """Exponential clusters, less their mean: flips reject far too often, `max_t` does not."""
    rng = np.random.default_rng(18)
    clusters, kept, flipped = [np.arange(24)], [], []
    for seed in range(40):
        values = rng.exponential(size=(24, 200)) - 1
        kept.append(any_significant(stats.max_t(values, clusters, seed=seed)))
        flipped.append(any_significant(stats.sign_flip_t(values, clusters, n_flips=499, seed=seed)))
    assert np.mean(kept) <= 0.05
    assert np.mean(flipped) > 0.3
