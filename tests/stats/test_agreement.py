from itertools import product

import numpy as np
import pytest
from scipy import stats as scipy_stats

from interp import stats
from tests.stats.designs import crossed, noise

RNG_SEED = 0


def attending_and_mattering(rng: np.random.Generator, ways: list[np.ndarray], n_heads: int = 30):
    """Items of heads whose true score and true effect go together, as fixed numbers."""
    size = np.linspace(0, 3, n_heads)
    scores = size + np.sin(np.arange(n_heads)) + noise(rng, ways, n_heads)
    return scores, size * (-1.0) ** np.arange(n_heads) + noise(rng, ways, n_heads)


def test_agreement_is_that_of_the_means():
    ways = crossed(6, 4)
    scores, effects = attending_and_mattering(np.random.default_rng(15), ways)
    effects = effects.round(0)  # ties
    for size in (np.abs, np.positive):
        agreement = stats.rank_agreement(scores, effects, ways, size=size, n_boot=20, seed=RNG_SEED)
        means = scores.mean(0), size(effects.mean(0))
        assert agreement.spearman.estimate == pytest.approx(scipy_stats.spearmanr(*means).statistic)
        assert agreement.kendall.estimate == pytest.approx(scipy_stats.kendalltau(*means).statistic)


def test_perfect_agreement_has_a_narrow_interval():
    clusters = [np.arange(16)]
    scores = np.arange(1.0, 31) + np.random.default_rng(16).uniform(0, 0.1, (16, 1))
    opposite = stats.rank_agreement(
        scores, -scores, clusters, size=np.positive, n_boot=50, seed=RNG_SEED
    )
    assert opposite.spearman.estimate == pytest.approx(-1)
    assert opposite.kendall.high < -0.999


def test_agreement_draws_clusters_with_replacement():
    """The standard error is that over all 4⁴ resamples of four clusters, and t has 3 degrees."""
    scores, effects = np.random.default_rng(20).standard_normal((2, 4, 12)) + np.arange(12) / 4
    agreement = stats.rank_agreement(
        scores, effects, [np.arange(4)], size=np.positive, n_boot=1_500, seed=RNG_SEED
    )
    resamples = [list(each) for each in product(range(4), repeat=4)]
    z = [
        np.arctanh(scipy_stats.spearmanr(scores[each].mean(0), effects[each].mean(0)).statistic)
        for each in resamples
    ]
    half = scipy_stats.t.ppf(0.975, 3) * np.std(z) * np.sqrt(4 / 3)
    low, middle, high = np.arctanh(
        [agreement.spearman.low, agreement.spearman.estimate, agreement.spearman.high]
    )
    np.testing.assert_allclose([middle - low, high - middle], half, rtol=0.06)  # 1,500 draws


def agreements(items, clusters: list[np.ndarray]) -> list[stats.Correlation]:
    return [
        stats.rank_agreement(*each, clusters, size=np.abs, n_boot=30, seed=seed).spearman
        for seed, each in enumerate(items)
    ]


@pytest.mark.parametrize("ways", [[np.repeat(np.arange(16), 4)], crossed(16, 4)])
def test_agreement_intervals_cover_what_so_many_items_show(ways):
    rng = np.random.default_rng(17)
    items = [attending_and_mattering(rng, ways) for _ in range(50)]
    robust, naive = agreements(items, ways), agreements(items, [np.arange(64)])
    expected = np.mean([each.estimate for each in robust])
    assert np.mean([each.low < expected < each.high for each in robust]) >= 0.9
    assert np.mean([each.low < expected < each.high for each in naive]) < 0.85


def test_draws_in_which_all_heads_tie_leave_no_nan():
    """All effects are 0 on three of four clusters, which a third of the draws hold alone."""
    scores = np.random.default_rng(21).uniform(size=(4, 5))
    effects = np.diag([1.0, 0, 0, 0]) @ scores
    agreement = stats.rank_agreement(
        scores, effects, [np.arange(4)], size=np.abs, n_boot=50, seed=RNG_SEED
    )
    for correlation in (agreement.spearman, agreement.kendall):
        assert -1 <= correlation.low < correlation.high <= 1


def test_heads_without_differences_have_no_ranking():
    with pytest.raises(ValueError, match="heads that differ") as error:
        stats.rank_agreement(
            np.ones((4, 3)), np.eye(4, 3), [np.arange(4)], size=np.abs, n_boot=9, seed=RNG_SEED
        )
    assert str(error.value) == (
        "a ranking needs heads that differ, got the same mean score 1 for all 3; "
        "check that the measure applies here."
    )
