import numpy as np
import pytest
from scipy import stats as scipy_stats

from interp import stats


def test_the_gate_is_a_one_sided_t_test_of_pairs():
    contrast = np.random.default_rng(18).normal(1, 1, 20)
    pairs = np.array([f"p{index}" for index in range(20)])
    expected = scipy_stats.ttest_1samp(contrast, 0, alternative="greater")
    gate = stats.gate(np.repeat(contrast, 2), [np.repeat(pairs, 2)], np.repeat(pairs, 2))
    assert (gate.passes, gate.reason, gate.n_clusters) == (True, "", 20)
    assert gate.p_value == pytest.approx(expected.pvalue)
    assert gate.mean == pytest.approx(contrast.mean())
    against = stats.gate(-contrast, [pairs], pairs)
    assert against.p_value == pytest.approx(1 - expected.pvalue)
    assert not against.passes


def test_a_pair_counts_once_however_many_directions_it_has():
    contrast, pairs = np.array([1.0, 3.0, 4.0]), np.array([0, 0, 1])
    assert stats.gate(contrast, [pairs], pairs).mean == 3.0


def test_the_gate_says_why_not():
    clusters = [np.arange(16)]
    small = stats.gate(np.full(16, 0.25), clusters, clusters[0])
    assert small.reason == "the contrast is 0.25, below 0.5."
    unsure = stats.gate(np.array([6.0] + [0.0] * 15) + 0.5, clusters, clusters[0])
    assert unsure.reason == (
        "the contrast, 0.88, is not shown to be positive: "
        "p = 0.017 over 16 clusters, not below 0.01."
    )
    assert stats.gate(np.full(16, 0.25), clusters, clusters[0], least=0.2).passes


def test_a_pair_in_two_clusters_is_refused():
    with pytest.raises(ValueError, match="both directions of a pair") as error:
        stats.gate(np.ones(4), [np.array(["a", "b", "c", "c"])], np.array(["p", "p", "q", "q"]))
    assert str(error.value) == (
        "both directions of a pair must lie in one cluster, got pair p in two; "
        "label clusters by what the directions share."
    )
