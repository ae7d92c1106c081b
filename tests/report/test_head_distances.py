"""Heads from near to far: one family's runs at several distances, and nothing else."""

import numpy as np
import pytest

from interp.report import write_index
from interp.report.head_distances import caption, curves, families
from interp.store import Run

from .example import example_run, without_source

DISTANCES = {8: 1.0, 64: 0.5, 512: 0.25}


@pytest.fixture(scope="module")
def runs():
    """One family at three distances, effects halved from each to the next; and two others."""
    example = example_run(6, 12)
    found = {"agreement": example}
    for distance, share in DISTANCES.items():
        name = f"long_range-recall-{distance}-fixed_source"
        verdicts = example.tables["verdicts"].copy()
        for end in ("", "_low", "_high"):
            verdicts[f"effect_edge{end}"] *= share
        tables = example.tables | {"verdicts": verdicts}
        found[name] = Run(settings=example.settings | {"task": name}, tables=tables)
    alone = "long_range-repeat-8-fixed_query"
    found[alone] = Run(settings=example.settings | {"task": alone}, tables=example.tables)
    return found


def test_the_leading_heads_are_followed_from_near_to_far(runs):
    ((name, table),) = families(runs)
    assert name == "recall, source in place"
    effects = runs["agreement"].tables["verdicts"].set_index("label")["effect_edge"]
    leading = effects.abs().nlargest(5).index
    assert list(dict.fromkeys(table["label"])) == list(leading)
    of_first = table[(table["label"] == leading[0]) & (table["side"] == "edge")]
    assert of_first["distance"].tolist() == list(DISTANCES)
    np.testing.assert_allclose(
        of_first["value"], effects[leading[0]] * np.array(list(DISTANCES.values()))
    )
    assert "over the distances 8, 64 and 512" in caption(table)


def test_attention_stands_left_and_effect_right(runs):
    ((_, table),) = families(runs)
    left, right = curves(table).axes
    assert left.get_title() == "Attention: CAS"
    assert right.get_title() == "Effect on the edge"
    line = next(each for each in right.lines if each.get_label() == table["label"].iloc[0])
    assert line.get_xdata().tolist() == list(DISTANCES)


def test_one_distance_or_no_attention_makes_no_curve(runs):
    name = "long_range-recall-16-fixed_source"
    bare = without_source(runs["agreement"])
    unscored = Run(settings=bare.settings | {"task": name}, tables=bare.tables)
    few = {key: runs[key] for key in ("agreement", "long_range-recall-8-fixed_source")}
    assert list(families(few | {name: unscored})) == []


def test_the_index_draws_them(runs, tmp_path):
    write_index({name: run for name, run in runs.items() if "recall" in name}, tmp_path)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Heads against distance: recall, source in place" in page
