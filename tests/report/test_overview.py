"""The table of all phenomena, from tables small enough to count by hand."""

import pandas as pd

from interp.report.overview import overview
from interp.store import Run

from .by_hand import FOUR, LEAGUE
from .example import example_run, failing_run, without_source

SETTINGS = {"n_pairs": 1024, "gap": 2.5, "metric": "logit_difference"}
BEHAVIOUR = pd.DataFrame({"passes": [True, True, False]})


def test_heads_are_counted_and_measures_set_beside_each_other():
    captured = pd.DataFrame(
        [("raw", 0.31), ("cas", 0.62), ("random", 0.05)], columns=["measure", "share"]
    ).assign(tier="edge", k=10)
    league = LEAGUE.assign(league="pattern only", area=[0.4, 0.6])
    run = Run(
        settings=SETTINGS,
        tables={
            "behaviour": BEHAVIOUR, "verdicts": FOUR, "league": league, "captured": captured,
        },
    )  # fmt: skip
    table = overview({"long_range": run})
    assert table.columns == ["", "long_range"]
    assert dict(table.rows) == {
        "pairs": "1,024",
        "templates that pass the gate": "2 of 3",
        "gap between prompt and counterfactual": "2.50 logits",
        "heads that attend to the source": "2",
        "heads that matter at any tier": "2",
        "verdict: attention-consistent": "1",
        "verdict: attends but idle": "1",
        "verdict: silent but causal": "1",
        "ρ of raw attention with effects on the edge": "0.60",
        "held out: the ten heads that attend most remove": "31 %",
        "held out: the ten by the best measure, pattern only": "62 % (CAS)",
        "held out: random heads of the same layers": "5 %",
    }


def test_what_a_run_does_not_have_is_a_dash_beside_what_another_has():
    runs = {
        "whole": example_run(12, 6),
        "failing": failing_run(),
        "own": without_source(example_run(12, 6)),
    }
    table = overview(runs)
    assert all(len(row) == 4 for row in table.rows)
    attending = next(row for row in table.rows if row[0] == "heads that attend to the source")
    assert attending[2:] == ["–", "–"]
    assert int(attending[1]) == runs["whole"].tables["verdicts"]["attends"].sum()
    assert {row[0]: row[2] for row in table.rows}["templates that pass the gate"] == "0 of 3"
