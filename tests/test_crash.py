"""A run that is killed over and over, and gone on with, leaves what an undisturbed one leaves."""

import json
from dataclasses import replace

import pytest

from interp.crash import crash, small_run


def test_killed_runs_end_as_the_undisturbed_one_and_make_nothing_twice(tmp_path):
    """`interp validate --crash`, in short."""
    model, items, cost = small_run("planted/agreement")
    assert items == small_run("agreement")[1]
    table = crash(model, items, folder=tmp_path, n_kills=3, seed=1, memory=10**9, cost_a_shard=cost)
    assert table["kills"].sum() == 3
    assert table["differing"].tolist() == [""] * len(table)
    assert table["made_again"].tolist() == [0] * len(table)
    settings = json.loads((tmp_path / "undisturbed" / "run.json").read_text())
    assert settings["shards"]["made"] > 30
    assert settings["shards"]["read"] == 0


def test_a_table_that_differs_is_told(tmp_path):
    """The comparison can fail: one number changed in one of the folders is named."""
    from interp import crash as module

    for place in ("one", "other"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "run.json").write_text(json.dumps({"seconds": place, "gap": 1}))
        (tmp_path / place / "verdicts.csv").write_text(f"layer\n{len(place)}\n")
    assert module._differing(tmp_path / "one", tmp_path / "other") == ["verdicts.csv"]


def test_a_run_that_measures_nothing_is_refused(tmp_path):
    model, items, cost = small_run("agreement")
    turned = [
        replace(item, answer_text=item.foil_text, foil_text=item.answer_text) for item in items
    ]
    with pytest.raises(ValueError, match="does not show the behaviour"):
        crash(model, turned, folder=tmp_path, n_kills=1, seed=0, memory=10**9, cost_a_shard=cost)


def test_a_small_run_of_an_unknown_model_is_refused_by_name():
    with pytest.raises(ValueError, match="there is no planted model"):
        small_run("gpt")
