"""The README's section on a DistilBERT from the hub, on a small random one and on MiniLM."""

import json
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch

README = Path(__file__).parents[1] / "README.md"


@pytest.fixture(scope="module")
def distilbert(tmp_path_factory):
    """A DistilBERT of two layers with random weights, and MiniLM's tokenizer."""
    from transformers import DistilBertConfig, DistilBertForMaskedLM

    from interp.models import load

    tokenizer = load("minilm-l6").tokenizer
    torch.manual_seed(0)
    config = DistilBertConfig(
        vocab_size=len(tokenizer), dim=32, hidden_dim=48, n_layers=2, n_heads=4,
        max_position_embeddings=64,
    )  # fmt: skip
    folder = tmp_path_factory.mktemp("models") / "tiny-distilbert"
    DistilBertForMaskedLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


@pytest.fixture
def shown(monkeypatch):
    """What is handed to BertViz, which need not be installed."""
    calls = []
    bertviz = ModuleType("bertviz")
    bertviz.head_view = lambda attention, tokens: calls.append((attention, tokens))
    monkeypatch.setitem(sys.modules, "bertviz", bertviz)
    return calls


def run(name):
    section = README.read_text().split("## A DistilBERT from the hub")[1].split("## Commands")[0]
    names = {}
    for example in re.findall(r"```python\n(.*?)```", section, re.DOTALL):
        assert example.count("distilbert/distilbert-base-uncased") <= 1
        exec(example.replace("distilbert/distilbert-base-uncased", name), names)
    return names


@pytest.mark.parametrize(
    ("model", "n_layers", "n_heads"), [("distilbert", 2, 4), ("minilm", 6, 12)]
)
def test_it_runs_as_it_stands(model, n_layers, n_heads, request, shown, capsys):
    name = request.getfixturevalue("distilbert") if model == "distilbert" else "minilm-l6"
    names = run(name)
    assert len(names["meaning"]) == n_layers * n_heads
    assert len(names["syntax"]) % (n_layers * n_heads) == 0
    assert "advantage" in capsys.readouterr().out
    ((attention, tokens),) = shown
    assert len(attention) == n_layers
    for layer in attention:
        # bertviz.util.format_attention: 4 axes, the first 1 long, squares of as many tokens
        assert layer.shape == (1, n_heads, len(tokens), len(tokens))
        torch.testing.assert_close(layer.sum(-1), torch.ones(1, n_heads, len(tokens)))
    json.dumps({"attn": attention[0].tolist(), "text": tokens})


def test_real_heads_are_told_apart_and_random_ones_are_not(distilbert, shown, capsys):
    real, random = run("minilm-l6"), run(distilbert)
    assert ((real["syntax"]["p"] < 0.05) & (real["syntax"]["advantage"] > 0.1)).any()
    assert not ((random["syntax"]["p"] < 0.05) & (random["syntax"]["advantage"] > 0.1)).any()
    assert real["meaning"]["rho"].max() > 0.3
    assert random["meaning"]["rho"].abs().max() < 0.3
