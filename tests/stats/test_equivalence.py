import re

import numpy as np
import pytest
from scipy import stats as scipy_stats

from interp import stats
from tests.stats.designs import crossed, noise


def test_by_hand():
    """Mean 1, error 1, one degree of freedom; bound 2 is one error away: p = 1/4."""
    values = np.array([[0.0], [2.0]])
    found = stats.equivalence(values, np.ones(len(values)), [np.arange(2)], bound=2.0)
    assert found.p_value[0] == pytest.approx(0.25)
    assert found.q_value[0] == pytest.approx(0.25)


def test_one_item_a_cluster_is_two_one_sample_t_tests():
    values = np.random.default_rng(0).normal(0.1, 1, (40, 30))
    found = stats.equivalence(values, np.ones(len(values)), [np.arange(40)], bound=0.5).p_value
    above = scipy_stats.ttest_1samp(values + 0.5, 0, alternative="greater").pvalue
    below = scipy_stats.ttest_1samp(values - 0.5, 0, alternative="less").pvalue
    np.testing.assert_allclose(found, np.maximum(above, below))


def test_a_head_whose_cells_cancel_is_not_equivalent_to_nothing():
    """±5 % in two cells of a gap of 1 beside a head of 0: one mean, two answers."""
    rng = np.random.default_rng(1)
    cells = np.tile(["singular", "plural"], 64)
    clusters = [np.repeat(np.arange(32), 4)]
    values = rng.normal(scale=0.01, size=(128, 2))
    values[:, 0] += np.where(cells == "singular", 0.05, -0.05)
    assert (
        stats.equivalence(values, np.ones(len(values)), clusters, bound=0.02).p_value < 0.05
    ).all()
    found = stats.equivalence(values, np.ones(len(values)), clusters, bound=0.02, cells=cells)
    assert (found.p_value < 0.05).tolist() == [False, True]
    assert found.p_value[0] > 0.99


@pytest.mark.parametrize("ways", [[np.repeat(np.arange(16), 8)], crossed(16, 8)])
def test_a_head_at_the_bound_is_called_equivalent_as_often_as_alpha_says(ways):
    """4,000 heads whose mean is the bound itself, far from the other one: 5 %, give or take."""
    values = 20 + noise(np.random.default_rng(2), ways, n_heads=4_000)
    share = (
        stats.equivalence(values, np.ones(len(values)), ways, bound=20.0).p_value < 0.05
    ).mean()
    assert 0.02 < share < 0.065


def test_a_gap_that_came_out_large_makes_no_head_equivalent():
    """Heads without spread at 2 % of a gap of 10 ± 1: against the gap found, half pass at once."""
    rng = np.random.default_rng(5)
    fixed, found = [], []
    for _ in range(400):
        gap, head = rng.normal(10, 1, 32), np.full((32, 1), 0.2)
        for called, denominator in ((fixed, np.full(32, gap.mean())), (found, gap)):
            test = stats.equivalence(head, denominator, [np.arange(32)], bound=0.02)
            called.append(test.p_value[0] < 0.05)
    assert np.mean(fixed) > 0.4
    assert np.mean(found) < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 400)


def test_what_a_head_shares_with_the_gap_is_no_chance():
    """A head of 1 % of each item's gap is within 2 %, however the gap varies."""
    gap = np.random.default_rng(6).normal(10, 5, (32, 1))
    alike = stats.equivalence(0.01 * gap, gap[:, 0], [np.arange(32)], bound=0.02)
    apart = stats.equivalence(0.01 * gap[::-1], gap[:, 0], [np.arange(32)], bound=0.02)
    assert alike.p_value[0] < apart.p_value[0] / 5


def test_few_false_discoveries_among_those_called_equivalent():
    """270 heads, 70 of them at the bound: of those called equivalent, few are among the 70."""
    rng = np.random.default_rng(3)
    clusters = [np.repeat(np.arange(32), 4)]
    shares = []
    for _ in range(60):
        values = noise(rng, clusters, n_heads=270)
        scale = values.std()
        values[:, :70] += 2 * scale
        called = (
            stats.equivalence(values, np.ones(len(values)), clusters, bound=2 * scale).q_value
            < 0.05
        )
        assert called[70:].mean() > 0.9
        shares.append(called[:70].sum() / called.sum())
    assert np.mean(shares) < 0.05


def test_rates_of_false_discovery_by_hand():
    """n p / rank, made monotone from the largest down."""
    found = stats.false_discovery(np.array([0.01, 0.04, 0.03, 0.5]))
    np.testing.assert_allclose(found, [0.04, 0.16 / 3, 0.16 / 3, 0.5])


def test_a_head_without_spread_is_decided_by_its_mean():
    values = np.tile([[0.0, 3.0]], (8, 1))
    found = stats.equivalence(values, np.ones(len(values)), [np.arange(8)], bound=1.0)
    np.testing.assert_array_equal(found.p_value, [0, 1])


@pytest.mark.parametrize(
    ("compute", "message"),
    [
        (
            lambda: stats.equivalence(
                np.zeros((4, 1)), np.ones(len(np.zeros((4, 1)))), [np.arange(4)], bound=0.0
            ),
            "bound must be positive, got 0.0; .02 of the gap is usual.",
        ),
        (
            lambda: stats.equivalence(
                np.zeros((4, 1)), np.array([1.0, -1, 1, -1]), [np.arange(4)], bound=0.02
            ),
            "a share of the gap needs one that is positive, got 0 on average; check that the "
            "behaviour is there.",
        ),
        (
            lambda: stats.false_discovery(np.array([0.5, np.nan])),
            "p-values must lie between 0 and 1, got some that do not, or NaN; "
            "leave out heads that have none.",
        ),
    ],
)
def test_bad_input_is_one_sentence(compute, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        compute()
