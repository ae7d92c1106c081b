import numpy as np
import pytest
from scipy import stats as scipy_stats

from interp import stats
from tests.stats.designs import cell_labels, crossed, noise, sandwich


def coverage(interval: stats.Interval, truth: float = 0.0) -> float:
    return float(((interval.low <= truth) & (truth <= interval.high)).mean())


def test_mean_interval_by_hand():
    """Residuals −2 −1 | 0 3 sum to ∓3: variance 2/1 × 18/16, one degree of freedom, t = 2."""
    values = np.array([[1.0], [2.0], [3.0], [6.0]])
    interval = stats.mean_interval(values, [np.array(["a", "a", "b", "b"])])
    assert (interval.estimate[0], interval.se[0], interval.df) == (3.0, 1.5, 1)
    assert interval.p_value[0] == pytest.approx(1 - 2 * np.arctan(2) / np.pi)
    assert interval.high[0] == pytest.approx(3 + 1.5 * 12.7062, abs=1e-3)


def test_one_item_a_cluster_is_the_one_sample_t_test():
    values = np.random.default_rng(1).normal(0.3, 1, (20, 2, 3))
    interval = stats.mean_interval(values, [np.arange(20)], confidence=0.9)
    expected = scipy_stats.ttest_1samp(values, 0)
    np.testing.assert_allclose(interval.p_value, expected.pvalue)
    low, high = expected.confidence_interval(0.9)
    np.testing.assert_allclose([interval.low, interval.high], [low, high])


def test_two_way_variance_is_that_of_all_pairs_sharing_a_cluster():
    rng = np.random.default_rng(2)
    ways = [way[rng.permutation(48)[:40]] for way in crossed(8, 6)]
    values = noise(rng, ways, n_heads=30)
    residuals = values - values.mean(0)
    one_way = [sandwich(residuals, way) for way in ways]
    two_way = sum(one_way) - sandwich(residuals, cell_labels(*ways))
    variance = stats.mean_interval(values, ways).se ** 2
    np.testing.assert_allclose(variance, np.maximum(two_way, np.maximum(*one_way)))
    assert stats.mean_interval(values, ways).df == 5


def test_a_way_given_twice_counts_once():
    rng = np.random.default_rng(3)
    labels = np.repeat(np.arange(6), 3)
    values = noise(rng, [labels], n_heads=5)
    once, twice = (stats.mean_interval(values, [labels] * n) for n in (1, 2))
    np.testing.assert_allclose(once.se, twice.se)


def test_intervals_cover_clustered_data_and_naive_ones_do_not():
    clusters = [np.repeat(np.arange(16), 8)]
    values = noise(np.random.default_rng(4), clusters, n_heads=4_000)
    assert 0.93 < coverage(stats.mean_interval(values, clusters)) < 0.97
    assert coverage(stats.mean_interval(values, [np.arange(128)])) < 0.8


@pytest.mark.parametrize("spread", [0.3, 1.0])
def test_intervals_cover_a_crossed_design_and_one_way_ones_do_not(spread):
    ways = crossed(16, 8)
    values = noise(np.random.default_rng(5), ways, n_heads=4_000, spread=spread)
    assert 0.93 < coverage(stats.mean_interval(values, ways)) < 0.98
    assert coverage(stats.mean_interval(values, ways[:1])) < 0.9
    assert coverage(stats.mean_interval(values, [np.arange(128)])) < 0.8


def test_no_head_is_significant_by_a_variance_that_came_out_small():
    """Of independent items, the plain two-way variance makes one in 300 seem one in 1,000."""
    ways = crossed(16, 8)
    values = np.random.default_rng(6).standard_normal((128, 8_000))
    residuals = values - values.mean(0)
    plain = sum(sandwich(residuals, way) for way in ways) - (residuals**2).sum(0) / (127 * 128)
    t = np.abs(values.mean(0)) / np.sqrt(np.where(plain > 0, plain, np.inf))
    assert (t > scipy_stats.t.ppf(0.9995, 7)).mean() > 0.003
    assert (stats.mean_interval(values, ways).p_value < 0.001).mean() < 0.001


def test_ratio_interval_by_hand():
    """17/8; residuals −1/8 −2/8 −2/8 5/8 over the mean denominator 2."""
    numerator = np.array([[2.0], [4.0], [4.0], [7.0]])
    interval = stats.ratio_interval(numerator, np.array([1.0, 2.0, 2.0, 3.0]), [np.arange(4)])
    assert interval.estimate[0] == 2.125
    assert interval.se[0] == pytest.approx(np.sqrt(4 / 3 * (1 + 4 + 4 + 25) / 64 / 4 / 16))


def test_a_constant_share_of_the_denominator_has_no_spread():
    denominator = np.array([1.0, 2.0, 2.0, 3.0])
    interval = stats.ratio_interval(0.5 * denominator[:, None], denominator, [np.arange(4)])
    assert (interval.estimate[0], interval.se[0], interval.p_value[0]) == (0.5, 0, 0)


def test_ratio_interval_covers_where_naive_clusters_do_not():
    rng = np.random.default_rng(7)
    clusters, covered, naive = [np.repeat(np.arange(16), 4)], [], []
    for _ in range(300):
        gap = 4 + noise(rng, clusters, n_heads=1)[:, 0]
        numerator = 0.1 * gap[:, None] + noise(rng, clusters, n_heads=20)
        covered.append(coverage(stats.ratio_interval(numerator, gap, clusters), 0.1))
        naive.append(coverage(stats.ratio_interval(numerator, gap, [np.arange(64)]), 0.1))
    assert 0.93 < np.mean(covered) < 0.97
    assert np.mean(naive) < 0.85


def test_a_denominator_around_zero_is_refused():
    with pytest.raises(ValueError, match="distinct from 0") as error:
        stats.ratio_interval(np.ones((4, 1)), np.array([1.0, -1.0, 1.0, -1.0]), [np.arange(4)])
    assert str(error.value) == (
        "a ratio needs a mean denominator that is distinct from 0, got 0 ± 0.577; "
        "check that the behaviour is there before normalising by it."
    )
