"""A linear fit that is judged on what it has not seen."""

import numpy as np
import pytest

from interp.grafts.telling import PENALTIES, fit, ridge

RNG = np.random.default_rng(0)
INPUTS = RNG.normal(size=(60, 4))
GROUPS = np.repeat(np.arange(12), 5)


def test_ridge_is_least_squares_with_a_row_more_for_each_coefficient():
    outcomes = INPUTS @ [1.0, -2.0, 0.0, 3.0] + RNG.normal(size=60)
    scale = (INPUTS**2).sum(0).mean()
    rows = np.vstack([INPUTS, np.sqrt(0.1 * scale) * np.eye(4)])
    expected, *_ = np.linalg.lstsq(rows, np.append(outcomes, np.zeros(4)), rcond=None)
    np.testing.assert_allclose(ridge(INPUTS, outcomes, 0.1), expected)


def test_what_is_linear_is_foretold_and_what_is_not_is_not():
    told = fit(INPUTS, INPUTS @ [1.0, -2.0, 0.0, 3.0], GROUPS)
    assert told.penalty == PENALTIES[0]
    assert told.r_squared > 0.999
    np.testing.assert_allclose(told.coefficients, [1, -2, 0, 3], atol=0.01)
    noise = fit(INPUTS, RNG.normal(size=60), GROUPS)
    assert noise.r_squared < 0.1
    assert noise.penalty > 1


def test_what_only_a_group_of_its_own_tells_is_not_foretold():
    """Each group has an input of its own: known by heart, useless for the others."""
    by_group = np.eye(12)[GROUPS]
    outcomes = RNG.normal(size=12)[GROUPS]
    assert fit(by_group, outcomes, GROUPS).r_squared <= 0
    assert fit(by_group, outcomes, np.tile(np.arange(5), 12)).r_squared > 0.99


def test_r_squared_is_one_less_the_share_of_squares_that_is_left():
    """Five groups, one left out at a time, one input: by hand, at the penalty that was chosen."""
    x, y = np.array([1.0, 2.0, -1.0, 3.0, 1.0]), np.array([1.0, 2.5, -1.0, 2.0, 1.5])
    found = fit(x[:, None], y, np.arange(5))
    left = 0.0
    for out in range(5):
        others = np.arange(5) != out
        square = (x[others] ** 2).sum()
        slope = (x[others] * y[others]).sum() / (square + found.penalty * square)
        left += (y[out] - slope * x[out]) ** 2
    assert found.r_squared == pytest.approx(1 - left / (y**2).sum())


def test_too_few_groups_and_nothing_to_fit_are_refused():
    with pytest.raises(ValueError) as error:
        fit(INPUTS, INPUTS[:, 0], np.arange(60) % 4)
    assert str(error.value) == (
        "expected 5 groups or more to leave out in turn, got 4; give pairs with other words."
    )
    with pytest.raises(ValueError) as error:
        fit(np.zeros((60, 4)), INPUTS[:, 0], GROUPS)
    assert str(error.value) == (
        "expected differences between the two sides of a pair, got zeros only; see that the head's "
        "output at the query differs between them."
    )
