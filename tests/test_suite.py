"""One head's card: every measure's mean on the items, beside the verdicts."""

import pandas as pd
import pytest

from interp.heads import Head
from interp.measures.catalogue import MEASURES
from interp.models import load
from interp.planted import build
from interp.suite import Card, _means_of


def test_a_planted_heads_measures_are_what_is_known_of_it():
    """It attends to the source alone and says 1 for the answer; the gradient says the same."""
    planted, model = build("agreement"), load("planted/agreement")
    head, known = next(
        (head, known) for head, known in planted.known.items() if known.attention == 1.0
    )
    found = _means_of(model, planted.items, head).set_index("measure")
    assert list(found.index) == [measure.name for measure in MEASURES]
    assert found.loc["raw", "value"] == pytest.approx(1.0, abs=1e-3)
    assert found.loc["margin", "value"] == pytest.approx(1.0, abs=1e-3)
    assert found.loc["norm_share", "value"] == pytest.approx(1.0, abs=1e-3)
    for measure in ("pvw", "dla", "attention_gradient"):
        assert found.loc[measure, "value"] == pytest.approx(known.direct, abs=1e-3), measure
    other = _means_of(model, planted.items, Head(0, head.head)).set_index("measure")
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
    whole = verdicts.merge(Card(verdicts=verdicts, measures=measures).wide, on="task")
    assert whole.to_dict("list") == {"task": ["a", "b"], "raw": [0.1, 0.2], "pvw": [1.5, 2.5]}
