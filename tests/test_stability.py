"""Which heads lead, and whether they do so on other items."""

import numpy as np
import pytest

from interp.contrast import Observations, stability
from interp.heads import Head

N_CLUSTERS, N_HEADS = 40, 12


def observed(effects, raw):
    n_items = len(effects)
    return Observations(
        heads=[Head(0, number) for number in range(N_HEADS)],
        item_ids=[str(number) for number in range(n_items)],
        scores={"raw": raw, "margin": np.full_like(raw, np.nan), "cas": raw},
        effects={"query": effects},
        gap=np.ones(n_items),
        clusters=[np.arange(n_items) // 2],
        cells=np.full(n_items, ""),
        splits=np.full(n_items, ""),
    )


@pytest.fixture
def table():
    """Two heads lead by far, of either sign; attention leads nowhere."""
    rng = np.random.default_rng(0)
    effects = rng.normal(scale=0.1, size=(2 * N_CLUSTERS, N_HEADS))
    effects[:, [3, 7]] += [2.0, -2.0]
    raw = rng.normal(size=effects.shape)
    return stability(observed(effects, raw), k=2, seed=0).set_index("ranking")


def test_heads_that_lead_by_far_lead_in_every_draw(table):
    assert table.loc["query", ["jaccard", "low", "high"]].tolist() == [1, 1, 1]


def test_chance_is_not_stable(table):
    """Two of twelve at random share .1 on average; here the items that chose them are drawn too."""
    assert 0.1 < table.loc["raw", "jaccard"] < 0.7
    assert table.loc["raw", "low"] == 0


def test_a_measure_that_is_undefined_somewhere_has_no_row(table):
    assert list(table.index) == ["query", "cas", "raw"]


def test_by_hand():
    """Three heads on two clusters, k = 1: draws of the first, of both, of the second.

    Of both head 0 leads, 3 to 2; of the first alone head 0, of the second alone head 1.
    """
    values = np.zeros((4, N_HEADS))
    values[:2, 0], values[2:, 1] = 3, 2
    data = observed(values, values)
    row = stability(data, k=1, seed=0).set_index("ranking").loc["query"]
    assert row["jaccard"] == pytest.approx(3 / 4, abs=4 * np.sqrt(3 / 16 / 1000))
    assert (row["low"], row["high"]) == (0, 1)


def test_no_more_than_half_of_the_heads_are_first():
    values = np.random.default_rng(1).normal(size=(8, N_HEADS))
    assert set(stability(observed(values, values), k=10, seed=0)["k"]) == {6}
