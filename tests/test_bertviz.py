"""What is handed to BertViz is what the model attends to; without it, one sentence says so."""

import sys
from types import ModuleType, SimpleNamespace

import pytest
import torch

from interp import bertviz as module
from interp.bertviz import bertviz_page
from interp.models.record import record


@pytest.fixture
def handed(monkeypatch):
    """What its view is called with, in its place: it needs a network and a notebook."""
    found = {}

    def head_view(**arguments):
        found.update(arguments)
        return SimpleNamespace(data="<html>")

    library = ModuleType("bertviz")
    library.head_view = head_view
    monkeypatch.setitem(sys.modules, "bertviz", library)
    monkeypatch.setattr(module, "find_spec", lambda name: library)
    return found


def test_each_layer_has_the_patterns_of_its_heads(tiny, items, handed):
    assert bertviz_page(tiny, items[0]) == "<html>"
    assert handed["tokens"] == ["<|endoftext|>", "The", " farmer", " beside", " the", " senators"]
    assert [tuple(layer.shape) for layer in handed["attention"]] == [(1, 4, 6, 6)] * 4
    (batch, *_) = tiny.encode(items[:2])
    for layer, pattern in zip(handed["attention"], record(tiny.plain, batch).pattern, strict=True):
        torch.testing.assert_close(layer[0, :, -1], pattern[0])


def test_without_it_one_sentence_says_what_to_do(tiny, items, monkeypatch):
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError) as error:
        bertviz_page(tiny, items[0])
    assert str(error.value) == (
        "BertViz is not installed; pip install bertviz ipython, or see the page of a run."
    )
