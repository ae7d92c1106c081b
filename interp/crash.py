"""Runs that are killed at random moments and gone on with, beside one that nobody disturbs."""

import json
import math
import os
import random
import signal
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import psutil

from interp.asked import as_read, metric_of
from interp.items import Item
from interp.models import Model, load
from interp.models.names import BUNDLED, PLANTED
from interp.planted import build
from interp.progress import Progress, say, silent
from interp.run import measure_into
from interp.settings import Settings
from interp.shards import COST_A_SHARD, shards_in
from interp.tasks import build as build_items
from interp.threads import one_thread

_OF_ONE_GO = ("seconds", "shards")
"""What `run.json` says of how it was made, and not of what was found."""
_POLL = 0.005


def small_run(name: str) -> tuple[Model, list[Item], int]:
    """A model, planted or bundled, a few items, and how small its shards are for them to be many.

    Raises:
        ValueError: there is no such model.
    """
    if name in BUNDLED:
        model = load(name)
        items = build_items("agreement", model.tokenizer, n_pairs=32, seed=0)
        first = min(item.template_id for item in items)
        few = [item for item in items if item.template_id == first]
        return model, as_read(model, few), COST_A_SHARD // 20
    name = name.removeprefix(PLANTED)
    return load(f"{PLANTED}{name}"), list(build(name).items), 10**5


def crash(
    model: Model,
    items: Sequence[Item],
    *,
    folder: Path,
    n_kills: int,
    seed: int,
    memory: int | None = None,
    cost_a_shard: int = COST_A_SHARD,
    progress: Progress = silent,
) -> pd.DataFrame:
    """Kill a run over and over, go on with it, and compare what it leaves.

    The same run is begun in one folder after the other; each time it is killed (SIGKILL) at a
    moment drawn evenly from the CPU time that an undisturbed one takes, unless it is done before,
    and begun again in the same folder until it is. One row a folder: `kills`, `whole` (shards that
    were whole when a kill came, summed over kills), `made_again` (those of them that were made a
    second time; 0), and `differing` (files that are not, bit for bit, those of the undisturbed run,
    apart from the time taken; none).

    The model is loaded once: what is killed is a fork of this process.

    Args:
        folder: an empty one, for all that is written.
        memory, cost_a_shard: as in `measure_into`.

    Raises:
        ValueError: this system cannot fork, or the model does not show the behaviour on the items,
            so that nothing is measured.
        RuntimeError: a run that nobody killed did not end well.
    """
    if not hasattr(os, "fork"):
        raise ValueError("runs are killed in forks of this process, and this system has none.")
    draw = random.Random(seed)
    settings = Settings(task=items[0].task, metric=metric_of(model))
    rows: list[dict[str, Any]] = []

    def begin(place: Path) -> int:
        return _forked(
            lambda: measure_into(
                place, model, items, settings, memory=memory, cost_a_shard=cost_a_shard
            )
        )

    with one_thread(), progress("kills", n_kills) as advance:
        model.bridge  # noqa: B018  made once, and in every fork from then on
        undisturbed = folder / "undisturbed"
        longest = _seconds_to_end(begin(undisturbed))
        if "shards" not in json.loads((undisturbed / "run.json").read_text()):
            raise ValueError("the model does not show the behaviour on these items; name others.")
        left = n_kills
        while left or not rows:
            place = folder / f"killed-{len(rows)}"
            row = {"kills": 0, "whole": 0, "made_again": 0}
            while True:
                before = shards_in(place)
                killed = _killed(begin(place), draw.uniform(0, longest) if left else math.inf)
                after = shards_in(place)
                row["made_again"] += sum(
                    after.get(key, made) != made for key, made in before.items()
                )
                if not killed:
                    break
                row["kills"] += 1
                row["whole"] += len(after)
                left -= 1
                advance(1)
            read = json.loads((place / "run.json").read_text())["shards"]["read"]
            row["made_again"] += len(before) - read
            rows.append(row | {"differing": ", ".join(_differing(undisturbed, place))})
    return pd.DataFrame(rows)


def _forked(work: Callable[[], object]) -> int:
    """The process that does the work, as a copy of this one; its exit code is 0 if it is done."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # no other thread computes
        process = os.fork()
    if process:
        return process
    try:
        work()
        os._exit(0)
    except BaseException:
        say(traceback.format_exc())
    finally:
        os._exit(1)


def _seconds_to_end(process: int) -> float:
    """The CPU time of a process that ends well.

    Raises:
        RuntimeError: it ended badly.
    """
    _, status, used = os.wait4(process, 0)
    _require_good_end(status)
    return used.ru_utime + used.ru_stime


def _killed(process: int, after: float) -> bool:
    """Whether a process was killed after so many seconds of CPU time, and not done before.

    Raises:
        RuntimeError: it ended badly by itself.
    """
    watched = psutil.Process(process)
    while not os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT):
        used = watched.cpu_times()
        if used.user + used.system >= after:
            os.kill(process, signal.SIGKILL)
            break
        time.sleep(_POLL)
    _, status = os.waitpid(process, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return True
    _require_good_end(status)
    return False


def _require_good_end(status: int) -> None:
    if status:
        raise RuntimeError("a run that nobody killed did not end well; its error stands above.")


def _differing(one: Path, other: Path) -> list[str]:
    """The files of either folder that are not the same in both."""
    names = sorted({path.name for place in (one, other) for path in place.iterdir()})
    return [name for name in names if _content(one / name) != _content(other / name)]


def _content(path: Path) -> Any:
    if not path.is_file():
        return None
    if path.name != "run.json":
        return path.read_bytes()
    settings = json.loads(path.read_text())
    return {name: value for name, value in settings.items() if name not in _OF_ONE_GO}
