"""One head's card: every measure's mean on the items, beside the verdicts; the runs of a folder."""

import pandas as pd
import pytest

from interp.card import Card, _on_task, means_of
from interp.heads import Head
from interp.measures.catalogue import MEASURES
from interp.models import load
from interp.planted import build
from interp.progress import silent
from interp.settings import Settings
from interp.store import Run
from interp.suite import _runs_in


def test_a_planted_heads_measures_are_what_is_known_of_it():
    """It attends to the source alone and says 1 for the answer; the gradient says the same."""
    planted, model = build("agreement"), load("planted/agreement")
    head, known = next(
        (head, known) for head, known in planted.known.items() if known.attention == 1.0
    )
    found = means_of(model, planted.items, head).set_index("measure")
    assert list(found.index) == [measure.name for measure in MEASURES]
    assert found.loc["raw", "value"] == pytest.approx(1.0, abs=1e-3)
    assert found.loc["margin", "value"] == pytest.approx(1.0, abs=1e-3)
    assert found.loc["norm_share", "value"] == pytest.approx(1.0, abs=1e-3)
    for measure in ("pvw", "dla", "attention_gradient"):
        assert found.loc[measure, "value"] == pytest.approx(known.direct, abs=1e-3), measure
    other = means_of(model, planted.items, Head(0, head.head)).set_index("measure")
    assert other.loc["raw", "value"] < 0.5


def test_a_card_has_each_measure_once():
    verdicts = pd.DataFrame({"task": ["a", "b"], "raw": [0.1, 0.2]})
    measures = pd.DataFrame(
        {
            "task": ["a", "a", "b", "b"],
            "measure": ["raw", "pvw", "raw", "pvw"],
            "league": ["pattern only", "metric-aware"] * 2,
            "value": [0.1, 1.5, 0.2, 2.5],
            "n_valid": [4, 4, 4, 4],
        }
    )
    none = pd.DataFrame()
    card = Card(verdicts=verdicts, measures=measures, backups=none, positions=none, examples=none)
    whole = verdicts.merge(card.wide, on="task")
    assert whole.to_dict("list") == {"task": ["a", "b"], "raw": [0.1, 0.2], "pvw": [1.5, 2.5]}


def test_a_card_says_where_a_head_acts_and_at_what_it_looks():
    """The head that finds the subject acts at the last word alone, and looks at the noun alone."""
    planted, model = build("agreement"), load("planted/agreement")
    parts = _on_task(model, planted.items, Settings(task="agreement"), Head(1, 0), silent)
    (verdict,) = parts["verdicts"].to_dict("records")
    assert verdict["verdict"] == "attention-consistent"
    positions = parts["positions"]
    last = positions["position"].max()
    by_position = positions.groupby("position")["effect"].mean()
    assert by_position[last] == pytest.approx(1.0, abs=1e-5)
    assert by_position.drop(last).abs().max() < 1e-5
    best = parts["examples"].sort_values("weight").groupby("template_id").last()
    assert best["weight"].min() == pytest.approx(1.0, abs=1e-3)
    (backups,) = parts["backups"]["backups"]
    assert backups == ""


def test_phenomena_stand_in_their_order_and_families_behind_them(tmp_path, monkeypatch):
    names = ["long_range-recall-16-fixed_source", "long_range", "coreference", "agreement"]
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").touch()
    monkeypatch.setattr(Run, "load", lambda folder: Run(settings={"of": folder.name}, tables={}))
    found = _runs_in(tmp_path)
    assert list(found) == [run.settings["of"] for run in found.values()]
    assert list(found) == ["agreement", "coreference", "long_range", names[0]]
