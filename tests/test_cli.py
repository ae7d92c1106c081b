"""The command line: what people type, and one clear sentence with exit code 2 for bad input."""

import json
import sys

import pandas as pd
import pytest

from interp.cli import main
from interp.store import DiskFullError, Run
from tests.conftest import agreement_pair
from tests.report.example import example_run


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


def result_in(path, command):
    """What a command wrote for machines, under the schema of its name."""

    def refuse(constant):
        raise AssertionError(f"{constant} is no JSON")

    found = json.loads(path.read_text(), parse_constant=refuse)
    assert found["schema"] == f"interp/{command}/1"
    return found["result"]


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
    for command in ("run", "head", "heads", "data", "models", "report"):
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
    ("arguments", "said"),
    [
        (
            ["head", "27.8", "--task", "agreement"],
            "would remove L27H8 of smollm2-135m on agreement, preset quick, everywhere, ",
        ),
        (["heads"], "would score every head of smollm2-135m on random repeats, prefix document"),
        (["validate", "induction"], "would validate induction"),
        (["validate", "--grafts"], "would silence heads of smollm2-135m"),
        (["bench", "0"], "would time 1 scenarios, 1 round(s) each:"),
        (["parity", "minilm-l6"], "would compare 1 models: minilm-l6"),
    ],
)  # fmt: skip
def test_a_dry_run_says_what_would_be_done(interp, arguments, said):
    code, out, _ = interp(*arguments, "--dry-run")
    assert code == 0
    assert out.startswith(said)


@pytest.mark.parametrize(
    "arguments", [["head", "L27"], ["validate", "inductoin"], ["parity", "lama"]]
)
def test_a_dry_run_refuses_what_the_run_would_refuse(interp, arguments):
    code, _, err = interp(*arguments, "--dry-run")
    assert code == 2
    assert len(err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    "command", ["run", "data", "heads", "head", "models", "parity", "validate", "bench", "report"]
)
def test_help_has_an_example(interp, command):
    code, out, _ = interp(command, "--help")
    assert code == 0
    assert f"interp {command}" in out.split("Examples:")[1]


def test_output_that_is_no_terminal_has_no_colour(interp):
    for arguments in (["--help"], ["run", "--help"], ["rnu"]):
        _, out, err = interp(*arguments)
        assert "\x1b[" not in out + err


def test_an_unknown_command_names_the_nearest(interp):
    code, _, err = interp("rnu")
    assert code == 2
    assert "Did you mean 'run'?" in err


def test_what_is_undefined_is_null_for_machines(tmp_path):
    from interp.cli.output import write_json

    write_json(tmp_path / "found.json", "run", [{"task": "own", "gap": float("nan")}])
    assert result_in(tmp_path / "found.json", "run") == [{"task": "own", "gap": None}]


def test_a_full_disk_is_one_sentence_and_exit_code_2(interp, monkeypatch):
    def fail(*args, **kwargs):
        raise DiskFullError("there is no room.")

    monkeypatch.setattr("interp.suite.run_suite", fail)
    assert interp("run", "agreement") == (2, "", "interp: there is no room.\n")


@pytest.mark.parametrize(("preset", "folder"), [("quick", ""), ("standard", "-standard")])
def test_each_preset_has_a_folder_of_its_own(interp, monkeypatch, tmp_path, preset, folder):
    plan = pd.DataFrame({"route": ["x"], "seconds": [0.0], "memory_mb": [0.0]})
    monkeypatch.setattr("interp.suite.plan_suite", lambda *_, **__: plan)
    monkeypatch.chdir(tmp_path)
    _, out, _ = interp("run", "agreement", "--dry-run", "--preset", preset)
    assert f"preset {preset}, into reports/smollm2-135m{folder}\n" in out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["run", "--model", "smollm"], "unknown model 'smollm'; did you mean 'smollm2-135m'?"),
        (["run", "agrement"], "unknown task 'agrement'; did you mean 'agreement'?"),
        (["run", "all", "--preset", "quik"], "unknown preset 'quik'; did you mean 'quick'?"),
        (["run", "nowhere.jsonl"], "there is no file nowhere.jsonl."),
        (["run", "agreement", "--model", "./nowhere"], "there is no directory ./nowhere."),
        (["data", "agreement", "--item", "x"], "--item is for --bertviz; name the file"),
        (["report", "nowhere"], "nowhere holds no run: there is no run.json in it."),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence(interp, arguments, sentence):
    code, out, err = interp(*arguments)
    assert code == 2
    assert out == ""
    assert err.startswith(f"interp: {sentence}")
    assert len(err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        (["--grafts", "induction"], "--grafts, induction"),
        (["--statistics", "induction"], "--statistics, induction"),
        (["--grafts", "--crash"], "--grafts, --crash"),
        (["--crash", "induction", "either"], "--crash, induction, either"),
    ],
)
def test_validate_does_one_thing_at_a_time(interp, asked, named):
    code, _, err = interp("validate", *asked)
    assert code == 2
    assert err.strip() == (
        "interp: of --grafts, --statistics, --crash and planted models one is asked for at a time "
        f"(and of models one with --crash), got {named}."
    )


@pytest.mark.parametrize(("differing", "again", "code"), [("", 0, 0), ("x.csv", 0, 1), ("", 2, 1)])
def test_a_killed_run_that_differs_or_is_made_again_is_exit_code_1(
    interp, monkeypatch, differing, again, code
):
    row = {"kills": 3, "whole": 40, "made_again": again, "differing": differing}
    monkeypatch.setattr("interp.crash.small_run", lambda name: (None, [], 1))
    monkeypatch.setattr("interp.crash.crash", lambda *_, **__: pd.DataFrame([row]))
    found, out, _ = interp("validate", "--crash")
    assert found == code
    assert out.splitlines()[-1] == (
        f"3 kills in 1 runs: {int(bool(differing))} runs differ from the undisturbed one, "
        f"{again} of 40 whole shards made again"
    )


def test_workers_without_a_cluster_are_refused(interp):
    assert interp("run", "agreement", "--workers", "2") == (
        2,
        "",
        "interp: --workers 2 are those of a Ray cluster; name it with --ray.\n",
    )


@pytest.mark.parametrize("is_right", [True, False])
def test_grafts_that_are_found_otherwise_are_exit_code_1(interp, monkeypatch, tmp_path, is_right):
    """The tables of a run that took minutes are given; what is said of them is not."""
    silenced = pd.DataFrame(
        {"head": ["L26H0"], "effect": [0.0], "verdict": ["x"], "agrees": [is_right]}
    )
    curve = pd.DataFrame(
        {
            "seed": 0, "head": "L28H3", "r_squared": 0.9, "planted": [0.0, 0.1],
            "effect": [0.0, 0.1], "low": [0.0, 0.09], "high": [0.0, 0.11], "p": [1.0, 0.0001],
            "verdict": ["neither", "silent but causal"], "n_drawings": [0, 5],
            "n_holding": [0, 5],
        }
    )  # fmt: skip
    monkeypatch.setattr("interp.grafts.check", lambda progress: (silenced, curve))
    out = tmp_path / "grafts.json"
    code, said, _ = interp("validate", "--grafts", "--json", out)
    assert code == (0 if is_right else 1)
    wrong = [] if is_right else ["L26H0, silenced, is found otherwise: x, effect 0"]
    assert [line for line in said.splitlines() if line.startswith("wrong")] == [
        f"wrong: {sentence}" for sentence in wrong
    ]
    rows = result_in(out, "validate-grafts")
    assert rows["wrong"] == wrong
    assert [row["planted"] for row in rows["by_share"]] == [0, 0.1]
    assert len(rows["curve"]) == 2


def test_an_unknown_head_names_the_nearest(interp, tiny_folder):
    code, _, err = interp("head", "L4H1", "--model", tiny_folder, "--quiet")
    assert code == 2
    assert err.strip() == (
        "interp: there is no head L4H1: this model has layers 0 to 3 with heads 0 to 3; "
        "the nearest is L3H1."
    )


def test_an_encoder_without_logits_has_no_card(interp):
    code, _, err = interp("head", "L0H0", "--model", "minilm-l6", "--quiet")
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
    tables = [f"{name}.{kind}" for name in ("behaviour", "cells") for kind in ("csv", "parquet")]
    assert written == [*tables, "datapackage.json", "figures", "report.html", "run.json"]
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
    rows = result_in(out_file, "heads")
    assert len(rows) == 72
    best = max(rows, key=lambda row: row["previous_token"])
    assert f"previous_token: {best['label']} {best['previous_token']:.2f}" in lines
    assert best["previous_token"] > 0.9


def test_data_says_what_is_good_and_what_is_not(interp, tiny_folder, pairs_file, tmp_path):
    """The linter: each bad line with its reason, the good ones described and written."""
    with pairs_file.open("a") as file:
        file.write('{"clean": "The farmer"}\nnot json\n')
    out, table = tmp_path / "good.jsonl", tmp_path / "found.json"
    code, said, err = interp(
        "data", pairs_file, "--model", tiny_folder, "--out", out, "--json", table
    )
    assert (code, err) == (0, "")
    lines = said.splitlines()
    assert lines[:3] == [
        f"{pairs_file}: own pairs, 6 items, 2 left out",
        f'left out: {pairs_file}, line 4: field "corrupt": Field required.',
        f"left out: {pairs_file}, line 5: "
        "expected one JSON object, got Expecting value at column 1.",
    ]
    assert (
        "own, pair0001.a: <|endoftext|>|The|[S: farmer]|[C: beside]| the|[DQ: pilots]  → ' is', "
        "not ' are'"
    ) in lines
    for title in ("balance:", "cues alone (chance .5):", "cells:"):
        assert title in lines
    assert "behaviour (logit of the answer less that of the foil, next token):" in lines
    rows = result_in(table, "data")
    dropped = [row for row in rows if row["table"] == "dropped"]
    assert [row["place"] for row in dropped] == [f"{pairs_file}, line {line}" for line in (4, 5)]
    assert {"counts", "examples", "balance", "behaviour"} <= {row["table"] for row in rows}


def test_what_data_writes_is_read_back_unchanged(interp, tiny_folder, pairs_file, tmp_path):
    from interp.tasks import read_pairs

    out, again = tmp_path / "once.jsonl", tmp_path / "twice.jsonl"
    interp("data", pairs_file, "--model", tiny_folder, "--out", out)
    interp("data", out, "--model", tiny_folder, "--out", again)
    assert read_pairs(out) == read_pairs(pairs_file)
    assert out.read_bytes() == again.read_bytes()


def test_data_of_natural_text_has_spans_and_no_pairs(interp, tiny_folder, tmp_path):
    path = tmp_path / "verbs.tsv"
    columns = "orig_sentence\tsubj_index\tverb_index\tn_diff_intervening"
    path.write_text(f"{columns}\nThe farmer near is\t2\t4\t0\n")
    code, said, _ = interp("data", path, "--model", tiny_folder)
    assert code == 0
    assert f"{path}: a table of subject and verb, 2 items, 0 left out" in said
    assert "<|endoftext|>|The|[S: farmer]| near|[Q: is]" in said
    assert "balance" not in said
    code, _, err = interp("data", path, "--model", tiny_folder, "--out", tmp_path / "out.jsonl")
    assert code == 2
    assert err.strip() == (
        "interp: these items are places in natural text, without a counterfactual; only pairs are "
        "written as JSON lines."
    )


@pytest.mark.parametrize(
    ("task", "sentence"),
    [
        (
            "long_range/recal/64/fixed_source",
            'expected one of agreement, coreference, long_range, or a family such as '
            '"agreement/simple", got "long_range/recal/64/fixed_source"; did you mean '
            '"long_range/recall/64/fixed_source"?',
        ),
        ("nowhere.tsv", "there is no file nowhere.tsv."),
    ],
)  # fmt: skip
@pytest.mark.parametrize("command", ["data", "run"])
def test_an_unknown_family_or_file_is_one_sentence(interp, command, task, sentence, tmp_path):
    if command == "run" and "/" not in task:
        pytest.skip("run takes no such files")
    options = ["--out", tmp_path / "out"] if command == "run" else []
    code, _, err = interp(command, task, *options)
    assert code == 2
    assert err.strip() == f"interp: {sentence}"


def test_a_family_has_dashes_for_slashes_in_its_folder(tiny):
    from interp.suite import settings_of

    name = "long_range/recall/512/fixed_source"
    settings = settings_of(name, tiny, preset="quick", seed=0)
    assert settings.task == "long_range-recall-512-fixed_source"


@pytest.mark.parametrize(("holds", "expected"), [(True, 0), (False, 1)])
def test_validate_statistics_exits_with_1_when_a_claim_does_not_hold(
    interp, monkeypatch, tmp_path, holds, expected
):
    rows = [{"measured": 0.05, "claimed": claimed, "holds": holds} for claimed in (True, False)]
    rows[1]["holds"] = False
    monkeypatch.setattr("interp.simulation.statistics", lambda **_: pd.DataFrame(rows))
    code, out, _ = interp("validate", "--statistics", "--quiet", "--json", tmp_path / "found.json")
    assert code == expected
    assert f"{int(holds)} of 1 claims hold" in out
    assert result_in(tmp_path / "found.json", "validate-statistics") == rows


def test_a_figure_and_a_table_for_a_paper(interp, tmp_path):
    run = example_run(6, 12)
    Run(settings=run.settings | {"decides": {}}, tables=run.tables).save(tmp_path)
    code, out, _ = interp("report", tmp_path, "--figure", "heatmaps", "--latex")
    assert code == 0
    assert out.splitlines() == [
        f"figure: {tmp_path / 'figures' / 'heatmaps.pdf'}",
        f"table: {tmp_path / 'verdicts.tex'}",
    ]
    assert (tmp_path / "figures" / "heatmaps.pdf").read_bytes().startswith(b"%PDF")
    assert not (tmp_path / "report.html").exists()
    code, _, err = interp("report", tmp_path, "--figure", "heatmaps", "--format", "pdff")
    assert (code, err.strip()) == (2, "interp: unknown format 'pdff'; did you mean 'pdf'?")
