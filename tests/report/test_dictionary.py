"""Every column of every table is described, in the run's own data dictionary."""

import json
from pathlib import Path

import pytest

from interp.report.dictionary import described, dictionary
from interp.store import Run

from .example import example_run

REPORTS = sorted((Path(__file__).parents[2] / "reports").glob("smollm2-135m/*/run.json"))


@pytest.mark.parametrize("path", REPORTS, ids=lambda path: path.parent.name)
def test_every_column_of_the_committed_runs_is_described(path):
    tables = Run.load(path.parent).tables
    assert {
        f"{name}.{column}"
        for name, table in tables.items()
        for column in table.columns
        if described(name, column) is None
    } == set()


def test_bounds_and_p_values_are_described_by_their_column():
    meaning, unit = described("verdicts", "effect_edge_low")
    assert meaning.startswith("lower end of the 95 % interval: effect of exchanging what")
    assert unit == "share of the gap"
    assert described("verdicts", "effect_edge_p")[1] == "probability"
    assert described("verdicts", "effect_elsewhere") is None


def test_the_dictionary_has_every_table_of_a_run():
    run = example_run(6, 12)
    package = json.loads(dictionary(run))
    tables = {each["name"]: each for each in package["resources"]}
    assert set(tables) == set(run.tables)
    fields = {each["name"]: each for each in tables["verdicts"]["schema"]["fields"]}
    assert list(fields) == list(run.tables["verdicts"].columns)
    assert fields["attends"]["type"] == "boolean"
    assert fields["raw"] == {
        "name": "raw", "type": "number", "unit": "probability",
        "description": "attention from the query to the source",
    }  # fmt: skip
    assert tables["example_tokens"]["path"] == "example_tokens.parquet"
    assert all(
        field["description"] for table in tables.values() for field in table["schema"]["fields"]
    )


def test_a_column_is_of_one_type_whatever_its_values_look_like():
    run = example_run(6, 12)
    behaviour = run.tables["behaviour"].assign(share_flipped=1, reason=float("nan"))
    changed = Run(settings=run.settings, tables=run.tables | {"behaviour": behaviour})
    assert dictionary(changed) == dictionary(run)
