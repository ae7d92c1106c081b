"""Pieces of a run: whole or not there, found again, made again where damaged, of one run only."""

import errno
import os
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from interp.shards import COST_A_SHARD, Shards, discard_shards, opened, shards_in
from interp.store import DiskFullError, remove_unfinished, write_whole

DECIDES = {"task": "agreement", "model_hash": "abc", "seed": 0}
NOTED = {"memory": 1000, "versions": {"torch": "2"}}


@dataclass
class Square:
    """A task that notes when it is done."""

    number: int
    done: list[int]
    cost: int = 2

    def key(self):
        return f"{self.number:064d}"

    def result(self, model, *, advance):
        self.done.append(self.number)
        advance(self.cost)
        return {"square": np.array([self.number**2 * model], np.float32)}


def squares(shards, numbers, done, **choices):
    found = shards.results(1.5, [Square(number, done) for number in numbers], **choices)
    return [float(each["square"][0]) for each in found]


def cut_off(folder, work, decides=DECIDES):
    """A run that stops in the middle."""

    def begin():
        with opened(folder, decides, noted=NOTED) as shards:
            work(shards)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        begin()


def test_what_is_whole_is_read_and_the_rest_is_made(tmp_path):
    done = []
    cut_off(tmp_path, lambda shards: squares(shards, [1, 3], done))
    with opened(tmp_path, DECIDES, noted=NOTED) as shards:
        assert squares(shards, [0, 1, 2, 3], done) == [0, 1.5, 6, 13.5]
        assert (shards.n_read, shards.n_made) == (2, 2)
    assert done == [1, 3, 0, 2]


def test_shards_go_when_the_run_is_whole_and_stay_when_it_is_not(tmp_path):
    cut_off(tmp_path, lambda shards: squares(shards, [1], []))
    assert list(shards_in(tmp_path)) == [f"{1:064d}"]
    with opened(tmp_path, DECIDES, noted=NOTED):
        pass
    assert list(tmp_path.iterdir()) == []


def test_progress_speaks_of_what_is_left_to_do(tmp_path):
    told = []

    class Told:
        def __init__(self, label, total):
            told.append((label, total))

        def __enter__(self):
            return told.append

        def __exit__(self, *error):
            pass

    cut_off(tmp_path, lambda shards: squares(shards, [1], []))
    with opened(tmp_path, DECIDES, noted=NOTED) as shards:
        squares(shards, [1, 2, 3], [], label="squares", progress=Told)
    assert told == [("squares", 4), 2, 2]


def test_every_kind_of_result_comes_back_bit_for_bit(tmp_path):
    table = pd.DataFrame({"label": ["L0H1", "NA"], "value": [0.1 + 0.2, np.nan], "n": [3, 4]})
    array = np.random.default_rng(0).normal(size=(2, 3)).astype(np.float32)
    result = {"table": table, "of cas edge": array, "how": {"halves": "none", "n": [1, 2.5]}}

    def make(model):
        return result

    def work(shards):
        shards.step("all", None, make)

    cut_off(tmp_path, work)
    with opened(tmp_path, DECIDES, noted=NOTED) as shards:
        found = shards.step("all", None, pytest.fail)
    pd.testing.assert_frame_equal(found["table"], table, check_exact=True)
    assert found["of cas edge"].tobytes() == array.tobytes()
    assert found["how"] == result["how"]


@pytest.mark.parametrize("found", [None, pd.DataFrame({"a": [1]}), {"n": 3}])
def test_a_step_gives_a_table_a_result_or_nothing(found):
    result = Shards().step("step", 2, lambda model, one, *, two: found, 1, two=2)
    assert list(result) == (
        [] if found is None else ["n"] if isinstance(found, dict) else ["table"]
    )


def test_an_undisturbed_run_sees_what_one_that_goes_on_sees(tmp_path):
    """What a file cannot hold is lost to both: an empty cell of text comes back as missing."""
    table = pd.DataFrame({"of": ["L1H2", None]})
    with opened(tmp_path, DECIDES, noted=NOTED) as shards:
        first = shards.table("t", None, lambda model: table)
        assert shards.table("t", None, pytest.fail).equals(first)


@pytest.mark.parametrize(
    "damage", [lambda content: content[:-7], lambda content: b"\0" + content[1:]]
)
def test_a_torn_shard_is_found_made_again_and_said(tmp_path, capsys, damage):
    done = []
    cut_off(tmp_path, lambda shards: squares(shards, [1, 2], done))
    torn = tmp_path / "shards" / f"{2:064d}"
    assert capsys.readouterr().err == (
        f"stopped; 2 shards stay in {torn.parent}; the same command goes on.\n"
    )
    torn.write_bytes(damage(torn.read_bytes()))
    with opened(tmp_path, DECIDES, noted=NOTED) as shards:
        assert squares(shards, [1, 2], done) == [1.5, 6]
    assert done == [1, 2, 2]
    assert capsys.readouterr().err == f"{torn} is damaged and is made again.\n"


def full(path, *, after):
    """`os.fsync` on a disk that is full after so many files."""
    written = []

    def fsync(descriptor):
        written.append(descriptor)
        if len(written) > after:
            raise OSError(errno.ENOSPC, "No space left on device")

    return fsync


def test_a_full_disk_is_one_sentence_and_nothing_is_lost(tmp_path, monkeypatch):
    done = []
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full(tmp_path, after=3))  # the settings and two shards
        with (
            pytest.raises(DiskFullError) as error,
            opened(tmp_path, DECIDES, noted=NOTED) as shards,
        ):
            squares(shards, [1, 2, 3], done)
    assert str(error.value) == (
        f"there is no room for {tmp_path / 'shards' / f'{3:064d}'}; what was written before it is "
        "whole. Make room and give the same command again: it goes on from there."
    )
    assert sorted(path.name for path in (tmp_path / "shards").iterdir()) == [
        f"{1:064d}",
        f"{2:064d}",
        "lock",
        "run.json",
    ]
    with opened(tmp_path, DECIDES, noted=NOTED) as shards:
        assert squares(shards, [1, 2, 3], done) == [1.5, 6, 13.5]
    assert done == [1, 2, 3, 3]


def test_what_a_killed_process_was_writing_is_cleared_away(tmp_path):
    (tmp_path / ".verdicts.csv-x1.unfinished").write_bytes(b"half")
    (tmp_path / "verdicts.csv").write_bytes(b"whole")
    remove_unfinished(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["verdicts.csv"]


HOLDS = """
import sys, time
from pathlib import Path
from interp.shards import opened
with opened(Path(sys.argv[1]), {"task": "agreement"}, noted={}):
    print("held", flush=True)
    time.sleep(60)
"""


def test_two_writers_in_one_folder_are_refused_until_the_first_is_gone(tmp_path):
    """The lock is the operating system's: it goes with the process, however that ends."""
    decides = {"task": "agreement"}
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout.readline() == "held\n"
        with pytest.raises(ValueError) as error, opened(tmp_path, decides, noted={}):
            pass
        assert str(error.value) == (
            f"another process is writing to {tmp_path}; wait until it is done, or give another "
            "folder with --out."
        )
        other.kill()
        other.wait()
        with opened(tmp_path, decides, noted={}) as shards:
            assert shards.folder == tmp_path / "shards"


@pytest.mark.parametrize("name", DECIDES)
def test_pieces_of_another_run_are_refused_by_what_differs(tmp_path, name):
    cut_off(tmp_path, lambda shards: squares(shards, [1], []))
    with (
        pytest.raises(ValueError) as error,
        opened(tmp_path, DECIDES | {name: "other"}, noted=NOTED),
    ):
        pass
    assert str(error.value) == (
        f"{tmp_path} holds pieces of a different run ({name} differ); give another folder with "
        "--out, or delete that one."
    )
    assert list(shards_in(tmp_path)) == [f"{1:064d}"]


def test_what_was_noted_at_the_start_is_there_when_the_run_goes_on(tmp_path):
    cut_off(tmp_path, lambda shards: None)
    with opened(tmp_path, DECIDES, noted={"memory": 5}) as shards:
        assert shards.noted == {"decides": DECIDES, **NOTED}
        assert shards.cost == COST_A_SHARD


def test_shards_beside_a_run_that_is_whole_are_removed(tmp_path):
    cut_off(tmp_path, lambda shards: squares(shards, [1], []))
    write_whole(tmp_path / "run.json", b"{}")
    discard_shards(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]
