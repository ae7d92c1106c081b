"""Partial rank correlation: against the textbook formula, and where a confounder does it all."""

import numpy as np
import pytest
from scipy import stats

from interp.stats.partial import partial_correlation, partial_correlation_test


def of(values, against, controls, clusters=None):
    ways = [np.arange(len(values))] if clusters is None else clusters
    return partial_correlation(values, against, controls, ways)


def test_with_one_control_it_is_the_formula():
    """(r_xy − r_xz r_yz) / √((1 − r_xz²)(1 − r_yz²)), Spearman's throughout."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=80)
    x, y = z + rng.normal(size=80), 0.5 * z + rng.normal(size=80)
    xy, xz, yz = (stats.spearmanr(*pair).statistic for pair in ((x, y), (x, z), (y, z)))
    expected = (xy - xz * yz) / np.sqrt((1 - xz**2) * (1 - yz**2))
    found = of(x[:, None], y, z[:, None])
    assert found.estimate[0] == pytest.approx(expected)
    assert found.low[0] < expected < found.high[0]


def test_it_depends_on_ranks_alone():
    rng = np.random.default_rng(1)
    x, y, z = rng.normal(size=(3, 50))
    one = of(x[:, None], y, z[:, None])
    other = of(np.exp(x)[:, None], y**3, np.arctan(z)[:, None])
    np.testing.assert_allclose(one.estimate, other.estimate)


def test_what_a_control_explains_is_not_counted():
    rng = np.random.default_rng(2)
    z = rng.normal(size=600)
    x, y = z + 0.1 * rng.normal(size=600), z + 0.1 * rng.normal(size=600)
    assert stats.spearmanr(x, y).statistic > 0.9
    found = of(x[:, None], y, z[:, None])
    assert found.low[0] < 0.0 < found.high[0]


def test_a_head_that_the_controls_determine_has_nothing_left():
    rng = np.random.default_rng(3)
    y, z = rng.normal(size=(2, 40))
    found = of(np.column_stack([z, y]), y, z[:, None])
    assert np.isnan([found.estimate[0], found.low[0], found.high[0], found.p_value[0]]).all()
    assert found.estimate[1] == pytest.approx(1)


def test_its_interval_covers_and_its_test_keeps_its_error():
    """200 draws of 30 clusters of 4, no correlation given the control: 95 % cover 0."""
    rng = np.random.default_rng(4)
    covered = 0
    for _ in range(200):
        z, ours, theirs = (np.repeat(rng.normal(size=30), 4) for _ in range(3))
        x, y = (z + each + rng.normal(size=120) for each in (ours, theirs))
        found = of(x[:, None], y, z[:, None], [np.repeat(np.arange(30), 4)])
        covered += found.low[0] <= 0 <= found.high[0]
    assert 0.90 < covered / 200 < 0.99


def test_the_test_finds_the_one_head_that_goes_with_it():
    rng = np.random.default_rng(5)
    y, z = rng.normal(size=(2, 300))
    values = rng.normal(size=(300, 6))
    values[:, 2] += y
    clusters = [np.repeat(np.arange(60), 5)]
    found = partial_correlation_test(values, y, z[:, None], clusters, seed=0)
    assert (found.p_value < 0.01).tolist() == [False, False, True, False, False, False]


def test_a_quantity_that_the_controls_determine_is_refused():
    rng = np.random.default_rng(6)
    x, z = rng.normal(size=(2, 30))
    with pytest.raises(ValueError) as error:
        of(x[:, None], z, z[:, None])
    assert str(error.value) == (
        "the controls leave nothing of what is correlated, which they determine; leave one out."
    )
