"""The examples of the README run as they stand."""

import re
from pathlib import Path

import pandas as pd
import torch

import interp

README = Path(__file__).parents[1] / "README.md"


def test_ones_own_pairs_and_metric_in_under_ten_lines(capsys):
    (example,) = re.findall(r"```python\n(import interp\n.*?)```", README.read_text(), re.DOTALL)
    after_the_pairs = example.split("    ]\n)\n")[1].strip().splitlines()
    assert len(after_the_pairs) < 10
    names = {}
    exec(example, names)
    effects = names["effects"]
    assert isinstance(effects, pd.DataFrame)
    assert len(effects) == 3 * 270 * 4
    assert set(effects["metric"]) == {"probability"}
    assert "label" in capsys.readouterr().out


def test_every_measure_on_ones_own_pairs(smollm2, items, capsys):
    (example,) = re.findall(
        r"```python\n(from interp.measures.catalogue .*?)```", README.read_text(), re.DOTALL
    )
    names = {"model": smollm2, "pairs": items[:2]}
    exec(example, names)
    assert len(names["found"].table) == len(names["described"]()) * 2 * 270
    assert "pvw" in capsys.readouterr().out


def test_the_other_removals_run_as_it_says(smollm2, capsys):
    section = README.read_text().split("## Other removals")[1].split("\n## ")[0]
    (example,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    pairs = interp.build("agreement", smollm2.tokenizer, n_pairs=16, seed=0)[:4]
    names = {"interp": interp, "model": smollm2, "pairs": pairs}
    exec(example, names)
    assert set(names["gone"]["metric"]) == {"logit_difference", "kl_divergence"}
    assert set(names["closed"]["intervention"]) == {"close_edge"}
    assert set(names["together"]["n_heads"]) == {2, 270}
    assert "41 of 270 heads measured exactly" in capsys.readouterr().out


def test_the_hooks_are_reused_as_it_says():
    section = README.read_text().split("## Reusing the hooks")[1].split("## How far")[0]
    names = {}
    for example in re.findall(r"```python\n(.*?)```", section, re.DOTALL):
        exec(example, names)
    intact = names["logits"]
    for pairs in ("swap", "zeroed", "closed", "resampled", "looks", "brings", "evenly", "tells"):
        edited = names["bridge"].run_with_hooks(names["ids"], fwd_hooks=names[pairs])
        assert not torch.equal(edited, intact), pairs
    assert names["leak_probe"](names["bridge"], names["ids"]) < 1e-4


def test_a_run_is_read_as_it_says(monkeypatch, capsys):
    section = README.read_text().split("## Reading a run")[1].split("## Reusing")[0]
    (example,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    monkeypatch.chdir(README.parent)
    names = {}
    exec(example, names)
    assert len(names["axes"]) >= 2
    assert "L26H0" in capsys.readouterr().out


def test_the_folders_it_names_are_there():
    for name in ("interp/attention.py", "reports/README.md"):
        assert (README.parent / name).exists()
