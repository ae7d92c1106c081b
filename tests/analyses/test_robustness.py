"""Other conditions: the comparison by hand, and one head measured twice."""

import numpy as np
import pandas as pd
import pytest

from analyses.robustness import TOP, Found, as_markdown, compared, conditions, jaccard, measured
from interp.heads import Head
from interp.progress import silent


def test_leading_heads_are_shared_or_not():
    one = np.arange(20.0)
    assert jaccard(one, one) == 1
    assert jaccard(one, -one) == 0
    shifted = np.roll(one, 5)  # half of the leading ten stay
    assert jaccard(one, shifted) == pytest.approx(5 / (2 * TOP - 5))


def test_a_condition_is_compared_by_the_size_of_effects():
    effects, cas = np.linspace(-1, 1, 21) ** 3, np.linspace(0, 1, 21)
    first = Found(gap=2.0, effects=effects, selectivity=cas)
    turned = Found(gap=3.0, effects=-effects, selectivity=cas[::-1])
    row = compared(first, turned, [f"h{number}" for number in range(21)])
    assert row["spearman_effect"] == pytest.approx(1)
    assert row["jaccard_effect"] == 1
    assert row["jaccard_cas"] == 0
    assert row["gap"] == 3.0
    assert row["largest_effect"] == "h0 1.00"
    assert row["most_selective"] == "h0 1.00"


def test_conditions_differ_in_what_they_say(smollm2, monkeypatch):
    monkeypatch.setattr("analyses.robustness.N_DITHERS", 1)
    every = {name: (model, items) for name, model, items in conditions(smollm2, "agreement")}
    assert next(iter(every)) == "prefix document"
    prefixes = {name: every[name][0].prefix.before for name in list(every)[:3]}
    assert len(set(prefixes.values())) == 3
    assert every["dithered 0"][0].weights_hash != smollm2.weights_hash
    assert every["other items"][1] != every["prefix document"][1]
    few = every["prefix document"][1][:8]
    head = [Head(26, 0)]
    found = [
        measured(every[name][0], few, silent, head) for name in ("prefix document", "prefix none")
    ]
    assert abs(found[0].effects[0] - found[1].effects[0]) > 1e-3
    assert found[0].selectivity[0] > 0.2


def test_the_page_has_a_line_a_row():
    table = pd.DataFrame([{"task": "agreement", "gap": 2.0}])
    assert as_markdown(table).splitlines() == [
        "| task | gap |",
        "|---|---|",
        "| agreement | 2.00 |",
    ]
