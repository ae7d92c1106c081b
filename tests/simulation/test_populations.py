import re

import numpy as np
import pytest

from interp.simulation.populations import (
    Design,
    crossed,
    gaussian,
    one_way,
    real_populations,
    resampled,
)
from tests.stats.designs import crossed as grid


def test_effects_of_a_grid_are_told_apart():
    """2 × 3 cells: 10, ±1 by row, −2 0 2 by column, and what no sum of these gives."""
    ways = np.array(grid(2, 3))
    rest = np.array([1.0, -2, 1, -1, 2, -1])  # rows and columns of it add up to 0
    columns = (10 + np.array([-1.0, 1])[ways[0]] + np.array([-2.0, 0, 2])[ways[1]] + rest)[:, None]
    found = crossed("grid", np.hstack([columns, columns + 5]), ways)
    assert (found.effects[0], found.gap) == pytest.approx((10, 15))
    np.testing.assert_allclose(found.own[:, 0], [-1, 1])
    np.testing.assert_allclose(found.other[:, 0], [-2, 0, 2], atol=1e-12)
    np.testing.assert_allclose(found.cells[:, 0], rest)


def test_a_crossed_sweep_is_the_sum_of_what_was_drawn():
    """Without columns and cells, the items of a row are alike; with a gap of its own."""
    levels = np.array([[-1.0, -2], [1, 2]])
    population = crossed("made up", np.repeat(levels, 3, axis=0), np.array(grid(2, 3)))
    sweep = population.sweep(np.random.default_rng(0), Design(4, 5))
    rows = sweep.chance.reshape(4, 5)
    assert set(rows.ravel().round(9)) <= {-1.0, 1.0}
    assert (np.ptp(rows, axis=1) < 1e-9).all()
    np.testing.assert_allclose(sweep.gap, 2 * sweep.chance[:, 0], atol=1e-9)
    assert [len(np.unique(way)) for way in sweep.clusters] == [4, 5]


@pytest.mark.parametrize("draw", [resampled, gaussian])
def test_draws_have_the_mean_and_covariance_of_the_levels(draw):
    """With replacement: no correction for a finite population, and its mean is not always met."""
    rng = np.random.default_rng(1)
    levels = rng.exponential(size=(12, 3)) @ rng.normal(size=(3, 3))
    levels -= levels.mean(axis=0)
    drawn = draw(rng, levels, 60_000)
    np.testing.assert_allclose(drawn.mean(0), 0, atol=4 * levels.std(0).max() / np.sqrt(60_000))
    np.testing.assert_allclose(np.cov(drawn.T), np.cov(levels.T, ddof=0), rtol=0.06, atol=0.05)
    of_twelve = np.array([draw(rng, levels, 12).mean(0) for _ in range(4_000)])
    np.testing.assert_allclose(of_twelve.std(0), levels.std(0) / np.sqrt(12), rtol=0.05)


def test_only_one_of_the_two_draws_keeps_the_skew():
    levels = np.random.default_rng(2).exponential(size=(200, 1))
    levels -= levels.mean()
    rng = np.random.default_rng(3)
    skews = [
        (draw(rng, levels, 50_000) ** 3).mean() / levels.std() ** 3
        for draw in (resampled, gaussian)
    ]
    assert skews[0] > 1
    assert abs(skews[1]) < 0.1


def test_the_real_effects_are_skewed_and_go_together_within_key_value_groups():
    """Three query heads share keys and values in SmolLM2, and are more alike than others."""
    layer, group = np.arange(270) // 9, np.arange(270) // 3
    same_layer, same_group = (each[:, None] == each for each in (layer, group))
    for population in real_populations():
        np.testing.assert_allclose(population.own.mean(axis=0), 0, atol=1e-6)
        levels = population.own[:, :-1]
        varies = levels.std(axis=0) > 0
        assert varies.sum() > 260
        skews = (levels[:, varies] ** 3).mean(0) / levels[:, varies].std(0) ** 3
        assert np.median(np.abs(skews)) > 0.2
        alike = np.abs(np.corrcoef(levels[:, varies].T))
        in_group = (same_group & ~np.eye(270, dtype=bool))[np.ix_(varies, varies)]
        in_layer = (same_layer & ~same_group)[np.ix_(varies, varies)]
        assert alike[in_group].mean() > alike[in_layer].mean()


def test_a_design_must_have_the_ways_of_its_population():
    population = one_way("pairs", np.eye(4, 3))
    message = "a design of 16 × 8 needs a population of as many ways, got pairs."
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        population.sweep(np.random.default_rng(0), Design(16, 8))
