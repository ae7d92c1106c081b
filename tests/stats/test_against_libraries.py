"""The same numbers from SciPy, and from statsmodels 0.15.0 (figures noted here), to 1e-6.

statsmodels: `OLS(values, ones).fit(cov_type="cluster", cov_kwds={"groups": …}, use_t=True)`,
`multipletests` with "holm" and "fdr_bh", `DescrStatsW(values).ttost_mean(-1, 1)`.
"""

import numpy as np
import pytest
from scipy import stats as scipy_stats

from interp import stats

ITEM = np.arange(24)
FIRST, SECOND = ITEM // 4, ITEM % 4
VALUES = np.sin(2.3 * FIRST) + 0.8 * np.cos(1.9 * SECOND) + 0.4 * np.sin(5.1 * ITEM) + 0.3
P_VALUES = np.array([0.001, 0.012, 0.012, 0.03, 0.04, 0.2, 0.6, 1.0])


@pytest.mark.parametrize(
    ("clusters", "expected"),
    [
        ([FIRST], [0.3646770839, 0.2869922132, 0.2597516854, -0.3730598862, 1.102414054]),
        ([FIRST, SECOND], [0.3646770839, 0.431035484, 0.4596700052, -1.0070701995, 1.7364243673]),
    ],
)
def test_intervals_are_those_of_a_cluster_robust_regression_on_a_constant(clusters, expected):
    found = stats.mean_interval(VALUES[:, None], clusters)
    figures = [found.estimate, found.se, found.p_value, found.low, found.high]
    np.testing.assert_allclose(np.ravel(figures), expected, atol=1e-6)


def test_a_share_is_a_regression_through_the_origin_when_weighted_by_the_denominator():
    """num = ratio × den + error, weights 1 / den: WLS's ratio is that of means; so is its error."""
    rng = np.random.default_rng(40)
    gap = rng.uniform(2, 4, 24)
    effects = 0.2 * gap + rng.normal(size=24)
    found = stats.ratio_interval(effects[:, None], gap, [FIRST])
    scores = np.bincount(FIRST, effects - found.estimate[0] * gap)
    bread = 1 / gap.sum()
    expected = np.sqrt(6 / 5 * bread * (scores**2).sum() * bread)
    assert found.estimate[0] == pytest.approx(effects.sum() / gap.sum(), abs=1e-12)
    assert found.se[0] == pytest.approx(expected, abs=1e-9)


def test_holm_is_that_of_statsmodels():
    expected = [0.008, 0.084, 0.084, 0.15, 0.16, 0.6, 1.0, 1.0]
    np.testing.assert_allclose(stats.adjusted_p(P_VALUES), expected, atol=1e-6)


def test_false_discovery_is_that_of_statsmodels():
    expected = [0.008, 0.032, 0.032, 0.06, 0.064, 0.2666666667, 0.6857142857, 1.0]
    np.testing.assert_allclose(stats.false_discovery(P_VALUES), expected, atol=1e-6)


def test_equivalence_is_that_of_statsmodels():
    found = stats.equivalence(VALUES[:, None], np.ones(len(VALUES[:, None])), [ITEM], bound=1.0)
    assert found.p_value[0] == pytest.approx(0.002011835462278821, abs=1e-6)


def test_sign_flips_of_one_head_are_scipys_permutation_test():
    """All 2¹² patterns on both sides."""
    values = np.random.default_rng(41).normal(0.9, 1, 12)

    def absolute_t(sample, axis):
        n = sample.shape[axis]
        return np.abs(sample.mean(axis)) / (sample.std(axis, ddof=1) / np.sqrt(n))

    expected = scipy_stats.permutation_test(
        (values,), absolute_t, permutation_type="samples", n_resamples=np.inf, alternative="greater"
    )
    found = stats.sign_flip_t(values[:, None], [np.arange(12)], n_flips=2**12, seed=0)
    assert 0.01 < expected.pvalue < 0.5
    assert found.p_value[0] == pytest.approx(expected.pvalue, abs=1e-6)


def test_bootstrap_t_of_one_head_is_scipys_bootstrap_of_the_studentised_mean():
    """To Monte-Carlo error, 4 × √(p (1 − p) (1/B + 1/B))."""
    values = np.random.default_rng(42).exponential(1, 16) - 0.6
    centre = values.mean()

    def t(sample, axis):
        n = sample.shape[axis]
        return (sample.mean(axis) - centre) / (sample.std(axis, ddof=1) / np.sqrt(n))

    draws = scipy_stats.bootstrap(
        (values,), t, n_resamples=20_000, method="percentile", rng=np.random.default_rng(43)
    ).bootstrap_distribution
    observed = abs(centre / (values.std(ddof=1) / 4))
    expected = (np.abs(draws) >= observed).mean()
    found = stats.bootstrap_t(values[:, None], [np.arange(16)], n_draws=20_000, seed=44)
    assert 0.01 < expected < 0.5
    assert found.p_value[0] == pytest.approx(
        expected, abs=4 * np.sqrt(expected * (1 - expected) / 10_000)
    )
