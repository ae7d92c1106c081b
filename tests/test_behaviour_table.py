"""The table of behaviour: what is there is not measured again, and the map marks what fails."""

from pathlib import Path

import pandas as pd
import pytest

import analyses.behaviour as analysis
from interp.report.distances import contrast_map


@pytest.fixture
def few(monkeypatch, tmp_path):
    """Two families, four pairs of each, into a folder of its own."""
    monkeypatch.setattr(analysis, "FOLDER", tmp_path)
    monkeypatch.setattr(analysis, "N_PAIRS_NEARER", 4)
    return ["agreement/simple", "long_range/recall/8/fixed_source"]


def test_rows_are_those_of_each_family_and_are_measured_once(few, smollm2, monkeypatch):
    items_of = analysis.item_sets(few, smollm2.tokenizer)
    analysis.measure(smollm2, items_of)
    table = pd.read_csv(analysis.FOLDER / "behaviour.csv")
    whole = table[table["template_id"] == "all"].set_index("family")
    assert list(whole.index) == few
    assert (whole["n_pairs"] == 4).all()
    assert whole.loc[few[1], "distance"] == 8
    assert whole["contrast"].min() > 0.5
    by_template = table[(table["template_id"] != "all") & (table["family"] == few[1])]
    mean = (by_template["contrast"] * by_template["n_pairs"]).sum() / 4
    assert whole.loc[few[1], "contrast"] == pytest.approx(mean, rel=1e-5)
    cells = pd.read_csv(analysis.FOLDER / "cells.csv")
    assert set(cells["family"]) == set(few)

    def fail(*args, **kwargs):
        raise AssertionError("measured again")

    monkeypatch.setattr(analysis, "answer_table", fail)
    before = (analysis.FOLDER / "behaviour.csv").read_bytes()
    analysis.measure(smollm2, items_of)
    assert (analysis.FOLDER / "behaviour.csv").read_bytes() == before
    monkeypatch.setattr(analysis, "SEED", 1)
    others = analysis.item_sets(few[:1], smollm2.tokenizer)
    with pytest.raises(AssertionError, match="measured again"):
        analysis.measure(smollm2, others)
    with pytest.raises(AssertionError, match="measured again"):
        analysis.measure(smollm2.with_prefix("none"), items_of)


def test_every_family_stands_in_one_group_only():
    from interp.tasks import families

    named = [family for group in analysis.groups() for family in group]
    assert len(named) == len(set(named))
    assert set(named) == {family.name for family in families() if "/" in family.name}


def test_the_map_has_a_cross_on_what_does_not_pass():
    """A cell a family and distance; an × for each that is measured and does not pass."""
    rows = [
        ("document", "agreement/simple", "", float("nan"), 5.0, True),
        ("document", "long_range/recall", "fixed_source", 8.0, 2.0, True),
        ("document", "long_range/recall", "fixed_source", 16.0, 0.1, False),
        ("none", "long_range/recall", "fixed_source", 8.0, 0.2, False),
    ]
    columns = ["prefix", "kind", "mode", "distance", "contrast", "passes"]
    figure = contrast_map(pd.DataFrame(rows, columns=columns), prefixes=("document", "bos", "none"))
    document, none, _ = figure.axes
    assert document.get_title() == "prefix: document"
    assert [label.get_text() for label in document.get_xticklabels()] == ["near", "8", "16"]
    assert [label.get_text() for label in document.get_yticklabels()] == [
        "agreement/simple",
        "recall, source fixed",
    ]
    crosses = [[text.get_position() for text in axes.texts] for axes in (document, none)]
    assert crosses == [[(2.5, 1.5)], [(1.5, 1.5)]]


def test_a_template_of_one_frame_has_no_interval_and_does_not_pass():
    from interp.behaviour import behaviour

    pairs = pd.DataFrame(
        {
            "pair_id": ["p", "p", "q", "q"],
            "template_id": "t",
            "cluster": "noun:farmer",
            "other_cluster": ["verb:is", "verb:is", "verb:was", "verb:was"],
            "n_tokens": 5,
            "clean": [2.0, 3.0, 4.0, 5.0],
            "corrupt": [-2.0, -3.0, -4.0, -5.0],
        }
    )
    (row,) = behaviour(pairs).itertuples()
    assert row.contrast == 7.0
    assert not row.passes
    assert pd.isna(row.contrast_low)
    assert row.reason == "all pairs share a lexical frame, so nothing is known of others."


def test_a_behaviour_reaches_as_far_as_it_passes_without_a_break():
    """By hand: passes at 8 and 16, fails at 32, passes again at 64."""
    from interp.report.distances import reach

    far = [("recall", 8.0, True), ("recall", 16.0, True), ("recall", 32.0, False)]
    far += [("recall", 64.0, True), ("needle", 8.0, False), ("needle", 16.0, True)]
    rows = [("none", f"long_range/{kind}", "fixed_query", *rest) for kind, *rest in far]
    rows.append(("none", "agreement/simple", "", float("nan"), True))
    table = pd.DataFrame(rows, columns=["prefix", "kind", "mode", "distance", "passes"])
    found = reach(table).set_index("kind")
    assert found["reach"].to_dict() == {"recall": 16, "needle": 0}
    assert found["measured"].to_dict() == {"recall": 64, "needle": 16}


def test_the_page_says_what_passes_and_how_far():
    """Sentence by sentence, for a table of four rows."""
    from interp.report.behaviour_words import behaviour_words

    rows = [
        ("none", "agreement/simple", "agreement/simple", "", float("nan"), 0.2, False),
        ("none", "agreement/adv", "agreement/adv", "", float("nan"), 2.0, True),
        ("none", "", "long_range/recall", "fixed_query", 8.0, 1.0, True),
        ("none", "", "long_range/recall", "fixed_query", 16.0, 0.1, False),
    ]
    columns = ["prefix", "family", "kind", "mode", "distance", "contrast", "passes"]
    page = behaviour_words(
        pd.DataFrame(rows, columns=columns), model="m", prefixes=("bos", "none"), n_families=9
    )
    for line in (
        "- prefix bos: 0 of 9 families measured.",
        "- prefix none: 4 of 9 families measured.",
        "- agreement/simple, prefix none: 0.20 logits",
        "| none | recall | not measured | 8 (of 16) |",
    ):
        assert line in page.splitlines()
    assert "agreement/adv" not in page


def test_the_written_table_has_every_family_under_every_prefix():
    """With the pairs that its distance is given, and a cell of its design at least."""
    written = Path(__file__).parents[1] / "reports" / "behaviour"
    table = pd.read_csv(written / "behaviour.csv")
    whole = table[table["template_id"] == analysis.WHOLE].set_index(["prefix", "family"])
    families = [family for group in analysis.groups() for family in group]
    wanted = {(prefix, family) for prefix in analysis.PREFIXES for family in families}
    assert whole.index.is_unique
    assert set(whole.index) == wanted
    n_pairs = [analysis.n_pairs_of(family) for _, family in whole.index]
    assert list(whole["n_pairs"]) == n_pairs
    cells = pd.read_csv(written / "cells.csv")
    of_whole = cells[cells["template_id"] == analysis.WHOLE]
    assert set(zip(of_whole["prefix"], of_whole["family"], strict=True)) == wanted
