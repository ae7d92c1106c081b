"""Ten planted mask bugs are found, a hundred correct variants raise no alarm."""

import numpy as np
import pytest
import torch

from analyses.primer.chain import Chain, NextSymbol, training
from analyses.primer.mask_bugs import (
    BUGS,
    TwoLayers,
    correct_variants,
    leaks,
    off_by_one,
    prefix_seen_whole,
)
from analyses.primer.masks import everything, past_alone
from interp.models.plain import Call, attend


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.__name__)
def test_each_planted_bug_is_found(bug):
    assert len(BUGS) == 10
    assert all(leaks(bug, n_pos=n_pos, seed=seed) for seed in range(3) for n_pos in (9, 12))


def test_no_correct_variant_raises_an_alarm():
    variants = list(correct_variants(100, seed=0))
    assert len({(variant.name, variant.n_pos) for variant in variants}) == 100
    alarms = [
        variant.name
        for variant in variants
        if leaks(variant.attention, n_pos=variant.n_pos, seed=1)
    ]
    assert alarms == []


def test_a_prefix_that_sees_itself_whole_is_found_at_its_own_length_alone():
    assert not leaks(prefix_seen_whole, n_pos=12, seed=0)
    assert leaks(prefix_seen_whole, n_pos=6, seed=0)


def test_an_off_by_one_mask_leaks_by_one():
    """Second route: which outputs move when a token changes."""
    model = TwoLayers(off_by_one, seed=0)
    ids = torch.arange(8)[None]
    other = ids.clone()
    other[0, -1] = 10
    moved = (model(ids) - model(other)).abs().amax(-1)[0] > 1e-6
    # one layer leaks by one position, two by two
    assert moved.tolist() == [False] * 5 + [True] * 3


def test_the_other_mask_is_what_it_says():
    query, key, value = torch.randn(3, 1, 2, 4, 3, generator=torch.Generator().manual_seed(0))
    is_open = torch.ones(4, 4, dtype=torch.bool)
    causal = Call(0, query, key, value, {"scale": 1.0, "mask": is_open.tril()[None, None]})
    free = Call(0, query, key, value, {"scale": 1.0, "mask": None})
    torch.testing.assert_close(everything(causal), attend(free))
    torch.testing.assert_close(past_alone(free), attend(causal))


def test_the_entropy_of_a_chain_is_that_of_what_it_draws():
    chain = Chain(seed=3)
    drawn = chain.draw(20_000, torch.Generator().manual_seed(0))
    counts = np.zeros((Chain.N_SYMBOLS, Chain.N_SYMBOLS))
    np.add.at(counts, (drawn[:, :-1].flatten(), drawn[:, 1:].flatten()), 1)
    following = counts / counts.sum(1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        of_row = -np.nansum(following * np.log(following), axis=1)
    assert chain.entropy == pytest.approx(counts.sum(1) / counts.sum() @ of_row, abs=0.01)


def test_in_use_a_causal_model_is_as_good_as_in_training_and_sees_nothing_more():
    model = NextSymbol(is_causal=True)
    ids = Chain(seed=0).draw(16, torch.Generator().manual_seed(0))
    torch.testing.assert_close(model.loss(ids), model.loss_in_use(ids))


def test_the_same_seed_trains_the_same_models():
    table = training(n_seeds=1, n_steps=20, seed=0)
    assert table.equals(training(n_seeds=1, n_steps=20, seed=0))
    assert not table.equals(training(n_seeds=1, n_steps=20, seed=1))
