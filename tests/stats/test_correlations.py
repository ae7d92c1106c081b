"""Rank correlations of many at once: SciPy's, a regression, and every permutation written out."""

from itertools import permutations

import numpy as np
import pytest
from scipy import stats as scipy_stats

from interp.stats.correlations import kendall, partial_spearman, spearman
from interp.stats.reliability import reliability, restricted_p

RNG_SEED = 0


@pytest.fixture
def rankings():
    """Two measures and three targets in four draws, with ties."""
    rng = np.random.default_rng(1)
    targets = rng.normal(size=(3, 4, 25)).round(1)
    measures = (targets[:2] + rng.normal(size=(2, 4, 25))).round(0)
    return measures, targets


@pytest.mark.parametrize(
    ("ours", "theirs"), [(spearman, scipy_stats.spearmanr), (kendall, scipy_stats.kendalltau)]
)
def test_each_with_each_is_scipys(rankings, ours, theirs):
    measures, targets = rankings
    found = ours(measures, targets)
    assert found.shape == (2, 3, 4)
    for measure, target, draw in np.ndindex(found.shape):
        expected = theirs(measures[measure, draw], targets[target, draw]).statistic
        assert found[measure, target, draw] == pytest.approx(expected)


def test_where_all_heads_tie_there_is_no_correlation(rankings):
    _, targets = rankings
    for each in (spearman, kendall):
        assert (each(np.ones((1, 4, 25)), targets) == 0).all()


def test_with_layers_held_still_it_is_what_a_regression_on_layers_leaves(rankings):
    measures, targets = rankings
    layers = np.repeat(np.arange(5), 5)
    dummies = np.eye(5)[layers]
    found = partial_spearman(measures, targets, layers)

    def left(values):
        ranks = scipy_stats.rankdata(values)
        return ranks - dummies @ np.linalg.lstsq(dummies, ranks, rcond=None)[0]

    for measure, target, draw in np.ndindex(found.shape):
        expected = np.corrcoef(left(measures[measure, draw]), left(targets[target, draw]))[0, 1]
        assert found[measure, target, draw] == pytest.approx(expected)


def test_a_measure_of_layers_says_nothing_within_layers(rankings):
    _, targets = rankings
    layers = np.repeat(np.arange(5), 5)
    assert (partial_spearman(np.tile(layers, (1, 4, 1)) + 0.0, targets, layers) == 0).all()


def test_restricted_p_is_the_share_of_all_permutations_within_blocks():
    """Two blocks of four heads: 576 permutations, each written out."""
    rng = np.random.default_rng(3)
    blocks = np.array([0, 1, 1, 0, 0, 1, 0, 1])
    measure, target = rng.normal(size=(2, 8)) + 3 * blocks
    ranks, others = scipy_stats.rankdata(measure), scipy_stats.rankdata(target)
    places = [np.flatnonzero(blocks == block) for block in (0, 1)]
    products = []
    for one in permutations(places[0]):
        for two in permutations(places[1]):
            moved = others.copy()
            moved[places[0]], moved[places[1]] = others[list(one)], others[list(two)]
            products.append(ranks @ moved)
    far = np.abs(np.array(products) - np.mean(products))
    exact = np.mean(far >= abs(ranks @ others - np.mean(products)) - 1e-9)
    found = restricted_p(
        measure[None], target[None], blocks, n_permutations=20_000, seed=RNG_SEED
    )[0, 0]  # fmt: skip
    assert 0.05 < exact < 0.95
    assert found == pytest.approx(exact, abs=0.015)  # four standard errors of 20,000


def test_restricted_p_sees_through_a_difference_between_blocks():
    """Blocks differ in both, and within them there is nothing: unrestricted, p would be small."""
    rng = np.random.default_rng(4)
    blocks = np.repeat(np.arange(2), 20)
    found = []
    for seed in range(60):
        measure, target = rng.normal(size=(2, 1, 40)) + 4 * blocks
        assert scipy_stats.spearmanr(measure[0], target[0]).pvalue < 0.01
        found.append(restricted_p(measure, target, blocks, n_permutations=199, seed=seed)[0, 0])
    assert np.mean(np.array(found) < 0.05) < 0.15
    assert 0.35 < np.mean(found) < 0.65


def test_heads_that_may_not_move_prove_nothing():
    values = np.arange(6.0)[None]
    assert restricted_p(values, values, np.arange(6), n_permutations=99, seed=0)[0, 0] == 1


def test_the_ceiling_is_what_two_noisy_copies_of_one_ranking_reach():
    """Score and effect are the same up to noise, so that what is missing to 1 is noise alone."""
    rng = np.random.default_rng(5)
    size = np.abs(rng.normal(size=80))
    clusters = [np.repeat(np.arange(20), 2)]
    reached, ceilings = [], []
    for seed in range(20):
        noise = rng.normal(size=(2, 20, 80)).repeat(2, axis=1)
        scores, effects = size + 3 * noise[0], size + 2 * noise[1]
        rel = [
            reliability([each], clusters, size=np.positive, n_splits=20, seed=seed)[0]
            for each in (scores, effects)
        ]
        ceilings.append(np.sqrt(rel[0] * rel[1]))
        reached.append(scipy_stats.spearmanr(scores.mean(0), effects.mean(0)).statistic)
    assert 0.4 < np.mean(reached) < 0.8
    assert np.mean(ceilings) == pytest.approx(np.mean(reached), abs=0.04)


def test_reliability_is_that_of_halves_of_clusters_by_hand():
    """Two clusters have one split; in it the halves agree to .5, so the whole to 2/3."""
    values = np.array([[1.0, 2, 3], [1, 2, 3], [1, 3, 2], [1, 3, 2]])
    clusters = [np.array(["a", "a", "b", "b"])]
    assert scipy_stats.spearmanr(values[0], values[2]).statistic == pytest.approx(0.5)
    found = reliability([values], clusters, size=np.positive, n_splits=3, seed=RNG_SEED)
    assert found == pytest.approx([2 / 3])


def test_of_a_crossed_design_the_way_that_agrees_less_counts():
    """Heads differ by the first way alone, so that halves of it disagree."""
    rng = np.random.default_rng(6)
    first, second = np.repeat(np.arange(12), 12), np.tile(np.arange(12), 12)
    values = rng.normal(size=(12, 40))[first] + 0.1 * rng.normal(size=(144, 40))
    both, one, other = (
        reliability([values], ways, size=np.positive, n_splits=30, seed=RNG_SEED)[0]
        for ways in ([first, second], [first], [second])
    )
    assert other > 0.9
    assert one < 0.5
    assert both == pytest.approx(one, abs=0.15)
