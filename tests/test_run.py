"""The whole flow on the real model, with few pairs."""

import pandas as pd
import pytest

from interp.run import measure, run_task
from interp.settings import Settings
from interp.store import Run
from interp.tasks import build


@pytest.fixture(scope="module")
def finished(smollm2, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "agreement"
    items = build("agreement", smollm2.tokenizer, n_pairs=32, seed=0)
    items = [item for item in items if item.template_id == "beside-knew"]
    run = run_task(smollm2, items, Settings(task="agreement"), folder=folder)
    return run, folder, items


def test_tables_figures_and_page_are_there(finished):
    run, folder, items = finished
    written = {path.name for path in folder.iterdir()}
    assert {"run.json", "report.html", "figures", "verdicts.csv", "league.csv"} <= written
    assert {"scores.parquet", "effects.parquet", "items.parquet"} <= written
    assert len(run.tables["verdicts"]) == 270
    assert run.settings["n_items"] == len(items)
    assert (folder / "report.html").stat().st_size < 2_000_000
    assert {"heatmaps.png", "heatmaps.svg"} <= {
        path.name for path in (folder / "figures").iterdir()
    }


def test_the_run_was_checked_against_the_plain_loop(finished):
    check = finished[0].settings["check"]
    assert check["heads"] == ["L0H0", "L15H1", "L29H2"]
    assert check["scopes"] == ["everywhere", "query", "edge"]
    assert 0 < check["largest_difference"] <= 1e-5 * check["largest_logit"]
    assert finished[0].settings["noise_floor"] < 1e-3


def test_all_heads_together_move_the_whole_gap(finished):
    """Prompts that differ in one word before the query, which only heads carry there."""
    assert finished[0].settings["all_heads"] == pytest.approx([1, 1, 1], abs=1e-4)


def test_an_encoder_is_read_at_words_and_all_its_heads_together_may_move_little():
    """A pronoun is like a name of its gender whatever the heads do: that part is not theirs."""
    from interp.models import load
    from interp.suite import items_of, settings_of

    minilm = load("minilm-l6")
    items = [
        item
        for item in items_of("coreference", minilm, preset="quick", seed=0)
        if item.template_id in ("know", "lived")
    ]
    settings = settings_of("coreference", minilm, preset="quick", seed=0)
    run = measure(minilm, items, settings)
    assert run.tables["behaviour"]["passes"].all()
    assert set(run.tables["effects"]["metric"]) == {"representation_margin"}
    assert run.settings["all_heads"][2] < 0.5
    assert "representation_margin" in run.tables["cells"]
    assert run.settings["check"]["route"].startswith("whole items")


def test_the_heads_known_for_agreement_are_found(finished):
    """L26H0 and L27H8 carry it over the edge; L27H0 attends as much and does nothing."""
    heads = finished[0].tables["verdicts"].set_index("label")
    assert set(heads["effect_edge"].nlargest(2).index) == {"L26H0", "L27H8"}
    assert set(heads["cas"].nlargest(3).index) == {"L26H0", "L27H8", "L27H0"}
    assert abs(heads.loc["L27H0", "effect_query"]) < 0.03


def test_scores_stand_beside_what_they_must_beat(finished):
    """The best head by CAS attends by role; an untrained model has none that does.

    It is scored on four pairs, and the eight patterns of their signs cannot be beaten; the reports
    have enough pairs for that.
    """
    controls = (
        finished[0].tables["controls"].pivot(index="control", columns="measure", values="value")
    )
    cas = controls["cas"]
    assert cas["measured"] > 0.3
    assert 0 < cas["label swap"] <= cas["label swap, best head"]
    assert controls.loc["label swap", "raw"] < 0.2
    assert abs(cas["even"]) < 1e-6
    assert cas["random init"] < 0.05
    assert controls.loc["measured", "raw"] > controls.loc["random init", "raw"] + 0.2


def test_verdicts_equal_the_tables_they_come_from(finished):
    """Second route: plain pandas over the per-item tables."""
    run = finished[0]
    effects, items = run.tables["effects"], run.tables["items"]
    rows = effects.query("scope == 'query' and layer == 26 and head == 0")
    share = (rows["intact"] - rows["edited"]).sum() / (items["clean"] - items["corrupt"]).sum()
    heads = run.tables["verdicts"].set_index("label")
    assert heads.loc["L26H0", "effect_query"] == pytest.approx(share, rel=1e-4)


def test_the_same_run_is_read_and_not_measured_again(finished, smollm2, monkeypatch):
    _, folder, items = finished

    def fail(*args, **kwargs):
        raise AssertionError("measured again")

    monkeypatch.setattr("interp.run.measure", fail)
    again = run_task(smollm2, items, Settings(task="agreement"), folder=folder)
    pd.testing.assert_frame_equal(again.tables["verdicts"], Run.load(folder).tables["verdicts"])
    with pytest.raises(ValueError, match="holds a different run"):
        run_task(smollm2, items[2:], Settings(task="agreement"), folder=folder)
    with pytest.raises(ValueError, match=r"holds a different run \(preset differ"):
        run_task(smollm2, items, Settings(task="agreement", preset="standard"), folder=folder)


def test_the_corrupt_metric_is_that_of_the_other_direction_with_its_sign_turned(finished):
    """Answer and foil exchange places between the two directions of a pair."""
    items = finished[0].tables["items"].set_index("item_id")
    for item_id, row in items.iterrows():
        other = items.loc[item_id[:-1] + ("b" if item_id.endswith("a") else "a")]
        assert row["corrupt"] == pytest.approx(-other["clean"], abs=1e-4)
