"""One attention, three hosts: where it raises, whoever claims to run it raises."""

import copy

import pytest
import torch

from interp.models.bridge import boot
from interp.multihead import MultiHeadAttention
from tests.tiny_bridges import prompts, tiny_model

DELEGATING = ("bert", "roberta", "opt", "gptj", "gpt_neo", "t5", "bart")


@pytest.fixture
def broken(monkeypatch):
    """Our attention raises. (The plain model is tried on every family in test_families.)"""

    def breaking():
        def fail(*args, **kwargs):
            raise ArithmeticError("ours was called")

        monkeypatch.setattr("interp.attention.attention", fail)

    return breaking


@pytest.mark.parametrize("family", DELEGATING)
def test_a_bridge_that_runs_ours_raises(family, tokenizer, broken):
    bridge = boot(copy.deepcopy(tiny_model(family)), tokenizer, name="tiny")
    ids = prompts()
    options = {"decoder_input_ids": ids} if family in ("t5", "bart") else {}
    bridge(ids, **options)
    broken()
    with pytest.raises(ArithmeticError, match="ours was called"):
        bridge(ids, **options)


def test_independent_heads_raise(broken):
    heads = MultiHeadAttention(d_model=8, d_head=4, n_heads=2, is_causal=True)
    residual = torch.randn(1, 3, 8)
    heads(residual)
    broken()
    with pytest.raises(ArithmeticError, match="ours was called"):
        heads(residual)
