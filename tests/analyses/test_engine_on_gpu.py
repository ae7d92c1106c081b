"""The script for a GPU: tiny on the CPU, and what it says where there is none."""

import pytest
import torch

from analyses import engine_on_gpu
from interp.effects import Scope
from interp.models.shapes import Shape

TINY = Shape(n_layers=2, n_heads=4, n_kv_heads=2, width=32, mlp=48, n_vocabulary=64)


def test_every_head_both_ways():
    table = engine_on_gpu.compared(
        TINY, n_pairs=3, n_tokens=6, scopes=(Scope.EVERYWHERE, Scope.QUERY), device="cpu"
    )
    assert table["heads"].tolist() == [8, 8]
    assert table["rows"].tolist() == [6 * 3, 6]
    assert (table[["apart", "logits_apart"]] <= 1e-5).all(axis=None)
    assert table["ratio"].tolist() == pytest.approx((table["loop_s"] / table["ours_s"]).tolist())


def test_without_a_gpu_it_says_so_and_writes_nothing(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(engine_on_gpu, "TABLE", tmp_path / "table.csv")
    with pytest.raises(SystemExit) as stopped:
        engine_on_gpu.main()
    assert stopped.value.code == 2
    assert capsys.readouterr().err == "no GPU here: nothing was measured.\n"
    assert not list(tmp_path.iterdir())


def test_its_shape_is_that_of_llama_1b():
    """16 layers of 2 × 2,048² + 2 × 2,048 × 512 + 3 × 2,048 × 8,192, as its card counts."""
    shape = engine_on_gpu.SHAPE
    assert shape.n_layers * shape.n_heads == 512
    d_head = shape.width // shape.n_heads
    in_layer = 2 * shape.width * (shape.width + shape.n_kv_heads * d_head)
    in_layer += 3 * shape.width * shape.mlp
    assert shape.n_layers * in_layer == pytest.approx(0.973e9, rel=1e-3)
