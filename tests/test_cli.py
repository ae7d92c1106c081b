"""The command line: what people type, and one clear sentence with exit code 2 for bad input."""

import json
import sys

import pytest

from interp.cli import main
from tests.conftest import agreement_pair


@pytest.fixture
def interp(monkeypatch, capsys):
    """Run a command; gives exit code, stdout and stderr."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["interp", *map(str, arguments)])
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = stop.code or 0
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


def as_record(item):
    (source,), (distractor,) = item.source, item.distractors
    return {
        "clean": item.clean_text,
        "corrupt": item.corrupt_text,
        "answer": item.answer_text,
        "foil": item.foil_text,
        "source": list(source),
        "distractor": list(distractor),
    }


@pytest.fixture
def pairs_file(tmp_path):
    nouns = [("farmer", "pilots"), ("pilots", "farmer"), ("doctor", "senators")]
    items = [agreement_pair(*both, pair_id=both[0])[0] for both in nouns]
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(json.dumps(as_record(item)) + "\n" for item in items))
    return path


def test_help_names_the_commands(interp):
    code, out, _ = interp("--help")
    assert code == 0
    for command in ("run", "head", "heads", "models", "report"):
        assert command in out


def test_models_says_where_they_are_or_what_they_need(interp):
    code, out, _ = interp("models")
    assert code == 0
    assert "smollm2-135m" in out
    assert "minilm-l6" in out


def test_dry_run_does_nothing(interp, tmp_path):
    code, out, _ = interp("run", "all", "--dry-run", "--out", tmp_path / "out")
    assert code == 0
    assert "would run agreement, coreference, long_range on smollm2-135m" in out
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["run", "--model", "smollm"], "unknown model 'smollm'; did you mean 'smollm2-135m'?"),
        (["run", "agrement"], "unknown task 'agrement'; did you mean 'agreement'?"),
        (["run", "all", "--preset", "quik"], "unknown preset 'quik'; did you mean 'quick'?"),
        (["run", "nowhere.jsonl"], "there is no file nowhere.jsonl."),
        (["run", "agreement", "--model", "./nowhere"], "there is no directory ./nowhere."),
        (["report", "nowhere"], "nowhere holds no run: there is no run.json in it."),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence(interp, arguments, sentence):
    code, out, err = interp(*arguments)
    assert code == 2
    assert out == ""
    assert err.startswith(f"interp: {sentence}")
    assert len(err.strip().splitlines()) == 1


def test_an_unknown_head_names_the_nearest(interp, tiny_folder):
    code, _, err = interp("head", "L4H1", "--model", tiny_folder, "--quiet")
    assert code == 2
    assert err.strip() == (
        "interp: there is no head L4H1: this model has layers 0 to 3 with heads 0 to 3; "
        "the nearest is L3H1."
    )


def test_an_encoder_without_logits_is_refused(interp, tmp_path):
    code, _, err = interp("run", "all", "--model", "minilm-l6", "--quiet", "--out", tmp_path)
    assert code == 2
    assert "minilm-l6 predicts no next token" in err


def test_pairs_of_unequal_length_name_the_pair(interp, tiny_folder, pairs_file, tmp_path):
    record = json.loads(pairs_file.read_text().splitlines()[0])
    record["corrupt"] = record["corrupt"].replace("knew", "knew near")
    pairs_file.write_text(json.dumps(record) + "\n")
    code, _, err = interp(
        "run", pairs_file, "--model", tiny_folder, "--out", tmp_path / "out", "--quiet"
    )
    assert code == 2
    assert err.strip() == (
        f'interp: {pairs_file}, line 1: pair "pair0001", item "pair0001.a": clean and corrupt must '
        "have equally many tokens, got 5 and 6; reword one of them."
    )
    assert not (tmp_path / "out").exists()


def test_a_single_task_that_fails_its_gate(interp, tiny_folder, pairs_file, tmp_path):
    """A random model shows no behaviour: that is reported, and no head is ranked."""
    out = tmp_path / "out"
    arguments = ("run", pairs_file, "--model", tiny_folder, "--out", out, "--quiet")
    code, _, err = interp(*arguments)
    assert code == 2
    assert "so its heads are not ranked" in err
    written = sorted(path.name for path in (out / "mine").iterdir())
    assert written == ["behaviour.csv", "cells.csv", "figures", "report.html", "run.json"]
    assert interp(*arguments)[0] == 2, "read again, it is refused again"


def test_a_folder_with_a_different_run_is_refused(interp, tiny_folder, pairs_file, tmp_path):
    out = tmp_path / "out"
    interp("run", pairs_file, "--model", tiny_folder, "--out", out, "--quiet")
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()}
    code, _, err = interp(
        "run", pairs_file, "--model", tiny_folder, "--out", out, "--quiet", "--prefix", "bos"
    )
    assert code == 2
    assert "holds a different run (prefix differ)" in err
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()} == before


def test_the_heads_of_an_encoder(interp, tmp_path):
    """What has no meaning there is named with its reason, and all else is measured."""
    out_file = tmp_path / "heads.json"
    code, out, _ = interp("heads", "minilm-l6", "--top", 1, "--quiet", "--json", out_file)
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "prefix [CLS]"
    assert any(line.startswith("sink rate of the model: 0.") for line in lines)
    assert (
        "retrieval: undefined; minilm-l6 predicts no next token, so there is no copying from far "
        "back to watch."
    ) in lines
    rows = json.loads(out_file.read_text())
    assert len(rows) == 72
    best = max(rows, key=lambda row: row["previous_token"])
    assert f"previous_token: {best['label']} {best['previous_token']:.2f}" in lines
    assert best["previous_token"] > 0.9
