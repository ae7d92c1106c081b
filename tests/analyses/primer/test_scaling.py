"""Scores, softmax and their gradients: by formula, by autograd, and the same again by seed."""

import numpy as np
import pytest
import torch

from analyses.primer.lookup import ARMS, Lookup, training
from analyses.primer.saturation import WIDTHS, random_vectors, slopes, softmax_rows


@pytest.fixture(scope="module")
def random():
    return random_vectors(n_repeats=3, n_rows=200, seed=0)


def test_the_gradient_is_the_norm_of_the_jacobian():
    scores = torch.tensor([0.3, -1.0, 2.0, 0.1], dtype=torch.float64)
    jacobian = torch.autograd.functional.jacobian(lambda row: row.softmax(0), scores)
    found = softmax_rows(scores)
    assert found["gradient"].item() == pytest.approx(jacobian.norm().item())
    assert found["variance"].item() == pytest.approx(scores.var().item())
    assert found["largest"].item() == pytest.approx(scores.softmax(0).max().item())


def test_closed_keys_do_not_count():
    scores = torch.tensor([0.5, 1.0, -0.5])
    closed = torch.tensor([0.5, -torch.inf, 1.0, -0.5])
    for name, value in softmax_rows(scores).items():
        assert softmax_rows(closed)[name].item() == pytest.approx(value.item(), rel=1e-5), name


def test_even_scores_have_the_entropy_of_even_attention_and_the_gradient_of_the_formula():
    found = softmax_rows(torch.zeros(16))
    assert found["entropy"].item() == pytest.approx(1)
    # p = 1/n: the Jacobian is (I − 11ᵀ/n) / n, of norm √(n − 1) / n
    assert found["gradient"].item() == pytest.approx(np.sqrt(15) / 16)


def test_the_variance_is_d_k_and_with_the_factor_1(random):
    means = random.groupby(["series", "d_k"])["variance"].mean()
    for width in WIDTHS:
        assert means[ARMS[1], width] == pytest.approx(width, rel=0.05)
        assert means[ARMS[0], width] == pytest.approx(1, rel=0.05)
    assert slopes(random, ARMS[1]).mean() == pytest.approx(1, abs=0.02)
    assert slopes(random, ARMS[0]).mean() == pytest.approx(0, abs=0.02)


def test_the_same_seed_gives_the_same_tables(random):
    assert random.equals(random_vectors(n_repeats=3, n_rows=200, seed=0))
    assert not random.equals(random_vectors(n_repeats=3, n_rows=200, seed=1))
    assert training(widths=(8,), n_seeds=2, n_steps=20, seed=0).equals(
        training(widths=(8,), n_seeds=2, n_steps=20, seed=0)
    )


def test_smaller_first_queries_make_the_first_forward_the_same():
    losses = {}
    for arm in ARMS:
        torch.manual_seed(0)
        model = Lookup(d_head=64, arm=arm)
        losses[arm] = model.loss(torch.Generator().manual_seed(0), n_items=8).item()
    assert losses[ARMS[2]] == pytest.approx(losses[ARMS[0]], rel=1e-4)
    assert losses[ARMS[1]] != pytest.approx(losses[ARMS[0]], rel=1e-2)
