"""A run on disk: read back as it was, never mixed with another, never half-written."""

from pathlib import Path

import pandas as pd
import pytest

from interp.store import Run, check_folder, fingerprint, read_table, write_whole

DECIDES = {"task": "agreement", "seed": 0, "prefix": [0]}


@pytest.fixture
def run():
    return Run(
        settings={"model": "tiny", "decides": DECIDES},
        tables={
            "verdicts": pd.DataFrame({"label": ["L0H2", "L0H10"], "raw": [0.25, None]}),
            "behaviour": pd.DataFrame({"template_id": ["NA", "None"], "passes": [True, False]}),
            "effects": pd.DataFrame({"item_id": ["a", "b"], "edited": [1 / 3, 2 / 3]}),
        },
    )


def test_a_run_is_read_back_as_it_was(run, tmp_path):
    run.save(tmp_path)
    again = Run.load(tmp_path)
    assert again.settings == run.settings
    assert again.fingerprint == run.fingerprint
    for name, table in run.tables.items():
        pd.testing.assert_frame_equal(again.tables[name], table, check_dtype=False)


def test_words_that_look_missing_stay_words(run, tmp_path):
    run.save(tmp_path)
    assert read_table(tmp_path / "behaviour.csv")["template_id"].tolist() == ["NA", "None"]


def test_all_tables_go_to_parquet_and_summaries_to_csv_too(run, tmp_path):
    run.save(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "behaviour.csv",
        "behaviour.parquet",
        "effects.parquet",
        "run.json",
        "verdicts.csv",
        "verdicts.parquet",
    ]
    assert pd.read_parquet(tmp_path / "verdicts.parquet")["raw"][0] == 0.25


def test_a_summary_is_read_from_its_csv(run, tmp_path):
    run.save(tmp_path)
    text = (tmp_path / "verdicts.csv").read_text()
    (tmp_path / "verdicts.csv").write_text(text.replace("0.25", "0.5"))
    assert Run.load(tmp_path).tables["verdicts"]["raw"][0] == 0.5


def test_a_folder_that_holds_a_different_run_is_refused_and_untouched(run, tmp_path):
    run.save(tmp_path)
    before = (tmp_path / "run.json").read_bytes()
    other = Run(settings={"decides": DECIDES | {"seed": 1, "prefix": [1]}}, tables={})
    with pytest.raises(ValueError) as error:
        other.save(tmp_path)
    assert str(error.value) == (
        f"{tmp_path} holds a different run (prefix, seed differ); give another folder with --out, "
        "or delete that one."
    )
    assert (tmp_path / "run.json").read_bytes() == before


@pytest.mark.parametrize("key", ["task", "seed", "prefix"])
def test_each_setting_that_decides_changes_the_fingerprint(key):
    assert fingerprint(DECIDES | {key: "other"}) != fingerprint(DECIDES)
    assert fingerprint(dict(reversed(DECIDES.items()))) == fingerprint(DECIDES)


def test_the_same_run_is_recognised(run, tmp_path):
    assert not check_folder(tmp_path, DECIDES)
    run.save(tmp_path)
    assert check_folder(tmp_path, DECIDES)


def test_an_empty_folder_and_a_file_in_its_place(tmp_path):
    with pytest.raises(FileNotFoundError, match="holds no run"):
        Run.load(tmp_path)
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(ValueError, match="is a file; expected a folder for the run"):
        check_folder(file, DECIDES)


def test_a_damaged_settings_file_is_one_sentence(run, tmp_path):
    run.save(tmp_path)
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(ValueError, match=r"run.json is damaged; delete the folder"):
        Run.load(tmp_path)


def test_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "table.csv"
    path.write_bytes(b"old")

    def fail(*args):
        raise OSError("no space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="no space left"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert [file.name for file in tmp_path.iterdir()] == ["table.csv"]


def test_what_is_noted_beside_what_decides_does_not_decide(run, tmp_path):
    """Versions and times are recorded; another one is still the same run."""
    run.save(tmp_path)
    later = Run(settings={"versions": "newer", "decides": DECIDES}, tables=run.tables)
    later.save(tmp_path)
    assert Run.load(tmp_path).settings["versions"] == "newer"
