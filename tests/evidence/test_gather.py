"""Which heads are asked what, and how the answers become a verdict, on models that are known."""

import numpy as np
import pandas as pd
import pytest

from interp.behaviour import item_table
from interp.contrast import Thresholds, Verdict, observations, verdicts
from interp.effects import LOGIT_DIFFERENCE, sweep
from interp.evidence import direct_where_defined, gathered
from interp.measures.relations import chance, relation_scores
from interp.models.record import record


@pytest.fixture
def asked(planted):
    """A planted model's verdicts with the evidence on so many heads of a kind."""

    def ask(name, n_heads):
        model, batch = planted(name)
        data = observations(
            relation_scores(record(model.plain, batch)),
            sweep(model, [batch]),
            item_table(model, [batch], LOGIT_DIFFERENCE),
            direct_where_defined(model, [batch]),
        )
        told = {"seed": 0, "chance": chance([batch])}
        found = gathered(model, [batch], data, Thresholds(), n_heads=n_heads, **told)
        return found, verdicts(data, Thresholds(), evidence=found.heads, **told)

    return ask


def test_decoys_are_removed_together_and_their_writing_is_read(asked):
    found, table = asked("decoys", 20)
    idle = table[table["verdict"] == Verdict.IDLE]
    assert idle["label"].tolist() == ["L0H1", "L0H2", "L0H3", "L0H4"]
    assert set(found.tables) == {"idle_together", "redundancy"}
    assert found.tables["idle_together"].set_index("set").loc["total", "n_heads"] == 4
    assert (found.tables["redundancy"]["backups"] == "").all()


def test_heads_that_matter_without_attending_are_traced(asked):
    found, table = asked("relay", 20)
    origins = found.tables["origins"].set_index(["layer", "head"])
    assert origins.loc[(1, 0), "other"] == pytest.approx(1, abs=1e-3)
    assert origins.loc[(0, 0), "source, anywhere"] == pytest.approx(1, abs=1e-3)
    assert (table["subtype"] == "relay").sum() == 2


def test_with_no_head_to_look_into_only_the_idle_are_asked(asked):
    found, table = asked("decoys", 0)
    assert set(found.tables) == {"idle_together"}
    assert (table["verdict"] == Verdict.IDLE).sum() == 4
    found, table = asked("relay", 0)
    assert not found.tables
    assert (table["verdict"] == Verdict.SILENT).sum() == 2
    assert np.isnan(table["conditional"]).all()


def test_a_head_that_hurts_neutral_text_is_general(asked, monkeypatch):
    """Two heads hand on what a third reads; were one to hurt all text, it would be general."""
    _, table = asked("chain", 20)
    assert table.loc[table["subtype"] == "upstream", "label"].tolist() == ["L1H0", "L2H0"]
    assert table["neutral"].isna().all()

    def hurts(model, heads, *, text, controls):
        rows = pd.DataFrame(heads, columns=["layer", "head"])
        share = np.where(rows["layer"] == 1, 0.3, 0.04)
        return rows.assign(control="neutral text", effect=share, low=share / 2, high=2 * share)

    monkeypatch.setattr("interp.evidence.gather.neutral_text", lambda *_, **__: None)
    monkeypatch.setattr("interp.evidence.gather.specificity", hurts)
    found, table = asked("chain", 20)
    by_label = table.set_index("label")
    assert by_label.loc[["L1H0", "L2H0"], "subtype"].tolist() == ["general", "upstream"]
    assert by_label.loc["L1H0", "because"].endswith("; 30 % on neutral text")
    assert len(found.tables["specificity"]) == by_label["neutral"].notna().sum() >= 3
