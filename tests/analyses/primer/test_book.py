"""Findings on disk, the page, and the committed ones: verdicts follow from the rules."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from analyses.primer import book, claims, misleading
from analyses.primer.__main__ import main
from analyses.primer.book import bounds, written
from analyses.primer.claim import Setting
from analyses.primer.rule import Ask, Estimate
from interp.store import Run
from interp.tasks import NAMES

REPORTS = Path(__file__).parents[3] / "reports"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The page of the one claim that is read off the committed run."""
    out = tmp_path_factory.mktemp("primer")
    main(["7", "--out", str(out), "--quiet"])
    return out


def test_a_finding_comes_back_as_it_was_written(folder):
    finding = misleading.measure(Setting())
    back = book.load(misleading.CLAIM, folder)
    assert back.evidence == finding.evidence
    assert back.sentences == finding.sentences
    assert set(back.tables) == set(finding.tables)
    pd.testing.assert_frame_equal(
        back.tables["agreement"].reset_index(drop=True),
        finding.tables["agreement"].reset_index(drop=True),
        rtol=1e-5,
        check_dtype=False,
    )


def test_the_page_has_the_verdict_the_rule_and_the_figures(folder):
    text = (folder / "report.html").read_text()
    assert "Attention weights are a limited and often misleading guide." in text
    for ask in misleading.RULE.asks:
        assert ask.what in text
    assert text.count("data:image/png") == 2
    assert "http" not in text.split("<body>")[1].replace("http://www.w3.org", "")
    assert (folder / "misleading" / "node_and_edge.svg").is_file()


def test_counts_of_the_last_claim_are_those_of_the_verdicts():
    runs = [Run.load(REPORTS / "smollm2-135m-standard" / task) for task in NAMES]
    attend = for_nothing = matter = unseen = 0
    for run in runs:
        for row in run.tables["verdicts"].to_dict("records"):
            attend += row["attends"]
            for_nothing += row["attends"] and not row["matters_edge"]
            matter += row["matters_query"]
            unseen += row["matters_query"] and not row["attends"]
    evidence = misleading.measure(Setting()).evidence
    assert evidence["attend_for_nothing"].value == pytest.approx(for_nothing / attend)
    assert evidence["matter_unseen"].value == pytest.approx(unseen / matter)


def test_figures_and_bounds_are_written_as_by_hand():
    ask = Ask(name="a", what="a", at_least=-0.05, at_most=0.05, digits=3)
    assert bounds(ask) == "−0.05 to 0.05"
    assert bounds(Ask(name="a", what="a", at_most=1e-5)) == "≤ 1e−05"
    assert written(ask, Estimate(-0.0101, -0.02, 0.03)) == "−0.010 [−0.020, 0.030]"
    assert written(ask, Estimate.exact(0.5)) == "0.500"
    assert written(ask, Estimate(float("nan"), 0, 1)) == "undefined"


def test_a_claim_that_is_not_there_is_refused(capsys):
    with pytest.raises(SystemExit) as error:
        main(["8"])
    assert error.value.code == 2
    assert "expected a claim, 1 to 7, got '8'" in capsys.readouterr().err


def test_without_numbers_every_claim_is_measured(tmp_path, monkeypatch):
    found = misleading.measure(Setting())
    asked = []
    monkeypatch.setattr(
        claims,
        "CLAIMS",
        tuple(
            replace(claim, measure=lambda setting, n=claim.number: asked.append(n) or found)
            for claim in (replace(misleading.CLAIM, number=1), misleading.CLAIM)
        ),
    )
    main(["--out", str(tmp_path), "--quiet"])
    assert asked == [1, 7]
