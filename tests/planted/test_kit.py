"""The construction kit against attention worked out by hand, and norms that stand still."""

import numpy as np
import pytest
import torch

from interp.planted.kit import SHARPNESS, Stream, even, head, previous
from interp.planted.words import VOCABULARY


def pattern(weights, states):
    """Causal softmax of the unscaled scores, in NumPy."""
    scores = (states @ weights.query) @ (states @ weights.key).T
    scores = np.where(np.tri(len(states), dtype=bool), scores, -np.inf)
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


@pytest.fixture
def stream():
    return Stream(asked=2, found=2, place=4)


@pytest.fixture
def states(stream):
    """Start, something of kind 0, something of kind 1, a question for kind 0."""
    rows = stream["one"].T + stream["place"].T
    rows[0] += stream["start"][:, 0]
    rows[1:3] += stream["found"].T
    rows[3] += stream["asked"][:, 0]
    return rows


def test_subspaces_do_not_overlap(stream):
    whole = np.hstack([stream[name] for name in ("one", "start", "asked", "found", "place")])
    assert np.array_equal(whole, np.eye(stream.width))


def test_a_head_finds_what_it_looks_for_and_else_rests(stream, states):
    finds = head(
        stream, looks_for=stream["asked"], finds=stream["found"], takes=stream["found"],
        writes=stream["found"],
    )  # fmt: skip
    found = pattern(finds, states)
    left_over = np.exp(-SHARPNESS / 2)
    assert found[3, 1] == pytest.approx(1 / (1 + left_over + 2 * left_over**2))
    assert found[2, 0] == pytest.approx(1 / (1 + 2 * left_over))
    values = states @ finds.value
    assert np.allclose((found @ values)[3], [1, 0], atol=1e-6)
    assert np.allclose((found @ values)[2], [0, 0], atol=1e-6)


def test_an_even_head_and_a_previous_token_head(stream, states):
    nothing = stream.nothing
    assert np.allclose(pattern(even(stream, takes=nothing, writes=nothing), states)[3], 0.25)
    before = pattern(previous(stream, takes=nothing, writes=nothing), states)
    assert np.allclose(np.diag(before, k=-1), 1, atol=1e-12)


@pytest.mark.parametrize("name", ["decoys", "agreement", "bidirectional"])
def test_norms_stand_still(plant, name):
    """RMSNorm, LayerNorm, and BERT's post-norms give what they take, to 1e-6."""
    module = plant(name)[0].plain.module
    norms = [part for part in module.modules() if "Norm" in type(part).__name__]
    seen = []
    handles = [norm.register_forward_hook(lambda _, x, y: seen.append((x[0], y))) for norm in norms]
    with torch.inference_mode():
        module(input_ids=torch.arange(8)[None])
    for handle in handles:
        handle.remove()
    assert len(seen) >= 3
    assert all((taken - given).abs().max() <= 1e-6 for taken, given in seen)


def test_words_are_tokens_and_come_back(plant):
    tokenizer = plant("decoys")[0].tokenizer
    ids = tokenizer("today john met mary then he", add_special_tokens=False).input_ids
    assert [VOCABULARY[number] for number in ids] == [
        "▁today", "▁john", "▁met", "▁mary", "▁then", "▁he",
    ]  # fmt: skip
    assert tokenizer.decode(ids) == "today john met mary then he"
