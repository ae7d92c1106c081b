"""Distance, width and sinks of a pattern, each by hand on a few rows."""

import math

import pytest
import torch

from interp.measures.divergence import divergences, head_distances
from interp.measures.offsets import at_offset, offset_dominance, offset_mass
from interp.measures.sinks import is_sink, sink_gu, sink_mean
from interp.measures.spread import (
    confidence,
    distance,
    entropy,
    long_range,
    n_effective,
    participation,
    relative_entropy,
)
from tests.models.conftest import plain_of

ROWS = torch.tensor(
    [
        [1.0, 0.0, 0.0, 0.0],
        [0.6, 0.4, 0.0, 0.0],
        [0.2, 0.5, 0.3, 0.0],
        [0.5, 0.1, 0.2, 0.2],
    ]
)[None, None]
EVEN = torch.ones(4, 4).tril()[None, None] / torch.arange(1.0, 5.0)[:, None]
SPECIAL = torch.tensor([[True, False, False, False]])
CAUSAL = torch.ones(4, 4, dtype=torch.bool).tril()[None, None]


def value(tensor):
    assert tensor.numel() == 1
    return tensor.item()


def test_offsets_by_hand():
    """One before, keys from 1 on: .5 and .2; itself: .4, .3 and .2; two before: .1."""
    assert value(offset_mass(ROWS, 1)) == pytest.approx(0.35)
    assert value(offset_mass(ROWS, 0)) == pytest.approx(0.3)
    assert value(offset_mass(ROWS, 2)) == pytest.approx(0.1)
    assert value(offset_mass(ROWS.mT, -1)) == pytest.approx(0.35)
    assert at_offset(ROWS, 1)[0, 0].tolist() == pytest.approx([0.6, 0.5, 0.2])


def test_dominance_by_hand():
    """Specials apart, the most is at 1 for query 2 and at 2 or 3 for query 3: 2 comes first."""
    assert value(offset_dominance(ROWS, 1, SPECIAL)) == 1.0
    assert value(offset_dominance(ROWS, 2, SPECIAL)) == 0.0
    assert value(offset_dominance(ROWS, 0, SPECIAL)) == pytest.approx(1 / 3)


def test_an_offset_beyond_the_text_is_an_error():
    with pytest.raises(ValueError) as error:
        offset_mass(ROWS, 3)
    assert str(error.value) == (
        "no query of 4 tokens has a key 3 places before it, the first 1 keys left out; give longer "
        "texts or a smaller offset."
    )


def test_sinks_by_hand():
    assert value(sink_mean(ROWS)) == pytest.approx((0.6 + 0.2 + 0.5) / 3)
    assert value(sink_gu(ROWS)) == pytest.approx((1 + 0.6 + 0.2 + 0.5) / 4)
    assert value(is_sink(ROWS)) == 1.0
    assert value(is_sink(torch.eye(4)[None, None])) == 0.0  # .25, the first query's own


def test_entropy_by_hand():
    """Even rows have all that they could; four even keys are four keys in use, by both counts."""
    assert entropy(EVEN)[0, 0].tolist() == pytest.approx([math.log(n) for n in (1, 2, 3, 4)])
    assert value(relative_entropy(EVEN, CAUSAL)) == pytest.approx(1.0)
    assert n_effective(EVEN)[0, 0, 3].item() == pytest.approx(4.0)
    assert participation(EVEN)[0, 0, 3].item() == pytest.approx(4.0)
    one = torch.eye(4)[None, None]
    assert value(relative_entropy(one, CAUSAL)) == 0.0
    half = torch.tensor([[[[1.0, 0.0], [1.0, 0.0]]]])
    assert n_effective(half)[0, 0].tolist() == [1.0, 1.0]
    expected = -(0.6 * math.log(0.6) + 0.4 * math.log(0.4))
    assert entropy(ROWS)[0, 0, 1].item() == pytest.approx(expected)
    assert participation(ROWS)[0, 0, 1].item() == pytest.approx(1 / 0.52)


def test_confidence_by_hand():
    """Specials apart: .4, .5, .2."""
    assert value(confidence(ROWS, SPECIAL)) == pytest.approx(1.1 / 3)


def test_distance_by_hand():
    """Rows 1 to 3 without key 0: 0; .5 / .8; (.1 · 2 + .2 · 1) / .5."""
    assert value(distance(ROWS, SPECIAL)) == pytest.approx((0 + 0.625 + 0.8) / 3)
    assert value(distance(ROWS.flip(2, 3).mT.mT, SPECIAL.flip(1))) == pytest.approx(
        (0 + 0.625 + 0.8) / 3
    )


def test_a_row_that_is_all_sink_has_no_distance():
    rows = ROWS.clone()
    rows[0, 0, 3] = torch.tensor([1.0, 0.0, 0.0, 0.0])
    assert value(distance(rows, SPECIAL)) == pytest.approx(0.625 / 2)


def test_long_range_by_hand():
    """Two or more before, key 0 apart: query 3 gives key 1 a tenth; even is 1 of 3 keys."""
    assert value(long_range(ROWS, SPECIAL, least=2)) == pytest.approx(0.1 * 3)
    uniform = EVEN.clone()
    uniform[..., 0] = 0
    uniform = uniform / uniform.sum(-1, keepdim=True).clamp(min=1e-9)
    for least in (1, 2):
        assert value(long_range(uniform, SPECIAL, least=least)) == pytest.approx(1.0)


def test_a_range_beyond_the_text_is_an_error():
    with pytest.raises(ValueError) as error:
        long_range(ROWS, SPECIAL, least=3)
    assert str(error.value) == (
        "no query has a key 3 tokens before it in texts of 4 tokens; give longer texts or a "
        "smaller distance."
    )


def test_divergence_by_hand():
    """The same is 0; one key against another is log 2, but for the smoothing; it is symmetric."""
    one, other = torch.zeros(3, 4), torch.zeros(3, 4)
    one[:, 0], other[:, 1] = 1.0, 1.0
    found = divergences(torch.stack([one, other, one]))
    assert found[0, 2].item() == pytest.approx(0.0, abs=1e-6)
    assert found[0, 1].item() == pytest.approx(math.log(2), abs=0.01)
    assert torch.allclose(found, found.T, atol=1e-6)
    half = torch.full((3, 4), 0.25)
    expected = entropy_of([0.625, 0.125, 0.125, 0.125]) - 0.5 * math.log(4)
    assert divergences(torch.stack([one, half]))[0, 1].item() == pytest.approx(expected, abs=0.01)


def entropy_of(row):
    return -sum(p * math.log(p) for p in row)


def test_distances_between_all_heads_of_a_model():
    ids = torch.arange(3, 11)[None]
    table = head_distances(plain_of("gpt2"), ids)
    assert (
        list(table.columns)
        == list(table.index)
        == [f"L{n}H{h}" for n in range(3) for h in range(4)]
    )
    assert (table.to_numpy().diagonal() < 1e-6).all()
    assert (table.to_numpy() <= math.log(2)).all()
    twice = head_distances(plain_of("gpt2"), ids.repeat(2, 1))
    assert twice.to_numpy() == pytest.approx(table.to_numpy(), abs=1e-6)
