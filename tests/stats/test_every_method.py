import re

import numpy as np
import pytest

from interp import stats
from tests.stats.designs import crossed, noise

RNG_SEED = 0


def test_few_clusters_are_said_to_be_unsupported():
    assert stats.support_note(crossed(16, 16)) == ""
    assert stats.support_note(crossed(40, 15)) == (
        "intervals are unsupported below 16 clusters a side; here are 15."
    )


@pytest.mark.parametrize("ways", [[np.repeat(np.arange(8), 2)], crossed(8, 2)])
def test_a_head_of_zeros_has_no_effect_and_no_nan(ways):
    values = np.zeros((16, 2), dtype=np.float32)
    ratio = stats.ratio_interval(values, np.linspace(4, 5, 16), ways)
    for interval in (stats.mean_interval(values, ways), ratio):
        np.testing.assert_array_equal([interval.estimate, interval.se], 0)
        np.testing.assert_array_equal(interval.p_value, 1)
    test = stats.sign_flip_t(values, ways, seed=RNG_SEED)
    np.testing.assert_array_equal([test.statistic, test.p_value], [[0, 0], [1, 1]])


def test_seeds_reproduce_and_inputs_stay():
    ways = crossed(20, 20)
    scores, effects = np.split(noise(np.random.default_rng(19), ways, n_heads=60), 2, axis=1)
    scores += 4
    inputs = [scores, effects, *ways]
    before = [array.copy() for array in inputs]
    stats.ratio_interval(effects, scores[:, -1], ways)
    for compute in (
        lambda seed: stats.sign_flip_t(effects, ways, n_flips=50, seed=seed).p_value.tolist(),
        lambda seed: stats.rank_agreement(scores, effects, ways, size=np.abs, n_boot=9, seed=seed),
    ):
        assert compute(1) == compute(1) != compute(2)
    for array, copy in zip(inputs, before, strict=True):
        np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize(
    ("compute", "message"),
    [
        (
            lambda: stats.mean_interval(np.array([[np.nan], [1.0]]), [np.arange(2)]),
            "values must be finite, got 1 of 2 that are NaN or infinite; "
            "leave out items, or heads, on which they are undefined.",
        ),
        (
            lambda: stats.sign_flip_t(np.ones((2, 1)), [], seed=RNG_SEED),
            "clusters must hold one array of labels, or two in a crossed design, got 0; "
            "pass for example [noun, attractor].",
        ),
        (
            lambda: stats.mean_interval(np.ones((3, 1)), [np.arange(3), np.zeros(3)]),
            "a spread between clusters needs at least two of them on each side, got 3 and 1; "
            "add items with other lexical frames.",
        ),
        (
            lambda: stats.sign_flip_t(np.ones((2, 1)), [np.arange(2)], n_flips=0, seed=RNG_SEED),
            "n_flips must be at least 1, got 0; 9999 is usual.",
        ),
        (
            lambda: stats.rank_agreement(
                np.eye(2), np.eye(2), [np.arange(2)], size=np.abs, n_boot=1, seed=RNG_SEED
            ),
            "n_boot must be at least 2, got 1; 2000 is usual.",
        ),
        (
            lambda: stats.adjusted_p(np.array([0.5, np.nan])),
            "p-values must lie between 0 and 1, got some that do not, or NaN; "
            "leave out heads that have none.",
        ),
    ],
)
def test_mistakes_are_named(compute, message):
    with pytest.raises(ValueError, match=re.escape(message) + "$"):
        compute()
