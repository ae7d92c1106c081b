"""Shards on a Ray cluster: the same results, whoever makes them and whoever is lost on the way."""

import os
import signal
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from interp.cli.tasks import _executor
from interp.shards import Shards, in_process


def ray_workers():
    """Two workers on this machine, with a planted model."""
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'interp[cluster]'")
    from interp.cluster import on_ray

    loading = {"name": "planted/agreement", "prefix": "document"}
    return on_ray("auto", loading, n_workers=2)


@dataclass
class Fatal:
    """A task whose worker is killed when it is begun for the first time."""

    number: int
    marks: Path
    cost: int = 1

    def key(self):
        return f"{self.number:064d}"

    def result(self, model, *, advance):
        mark = self.marks / self.key()
        if self.number == 2 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return {"process": os.getpid(), "number": self.number}


@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_a_sweep_on_two_workers_of_which_one_is_lost(planted, tmp_path):
    """The table is the one made here, and the shard that was lost is made by another worker."""
    from interp.effects import sweep

    model, batch = planted("agreement")
    here = sweep(model, [batch], shards=Shards(cost=10**5))
    with ray_workers() as execute:
        tasks = [Fatal(number, tmp_path) for number in range(6)]
        found = Shards(execute=execute).results(model, tasks)
        there = sweep(model, [batch], shards=Shards(execute=execute, cost=10**5))
    assert [each["number"] for each in found] == list(range(6))
    assert os.getpid() not in {each["process"] for each in found}
    largest = np.abs(here["intact"]).max()
    for column in ("intact", "edited", "corrupt"):
        assert np.abs(there[column] - here[column]).max() <= 1e-5 * largest
    names = ["scope", "layer", "head", "item_id"]
    assert there[names].equals(here[names])


def test_work_is_done_here_unless_a_cluster_is_named():
    with _executor(None, {}, None) as execute:
        assert execute is in_process


def test_a_cluster_without_ray_is_one_sentence(monkeypatch):
    import sys

    from interp.cluster import on_ray

    monkeypatch.setitem(sys.modules, "ray", None)
    with (
        pytest.raises(ValueError) as error,
        on_ray("auto", {"name": "planted/agreement"}),
    ):
        pass
    assert str(error.value) == "Ray is not installed here; run: pip install 'interp[cluster]'."
