"""A run in pieces: results of pure functions, each kept whole or not at all until the run is whole.

A shard is a file named by what decides it, with a checksum in front: a run that was cut off reads
those that are whole and makes the others.
"""

import hashlib
import io
import json
import shutil
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd
from filelock import FileLock, Timeout

from interp.progress import Advance, Progress, say, silent
from interp.store import (
    fingerprint,
    remove_unfinished,
    require_same,
    settings_in,
    write_settings,
    write_whole,
)

Result = Mapping[str, Any]
"""Tables, arrays and what JSON has, by name."""

COST_A_SHARD = 10**12
"""Multiplications by weights in a shard of a sweep: 40 s on two cores, lost when it is cut off."""

_FOLDER, _LOCK = "shards", "lock"
_DIGEST = 64  # characters of a SHA-256


@runtime_checkable
class Task(Protocol):
    """Work that depends on a model and on its own description alone.

    Attributes:
        cost: in any unit that tasks of one kind share.
    """

    @property
    def cost(self) -> int:
        """How much work it is."""
        ...

    def key(self) -> str:
        """A hash of all that decides the result; asked for only where results are kept."""
        ...

    def result(self, model: Any, *, advance: Advance) -> Result:
        """What comes out; `advance` is told of the cost of what is done."""
        ...


Executor = Callable[[Any, Sequence[Task], Advance], Iterator[tuple[int, Result]]]
"""Gives each task's place and its result, in whatever order they are done."""


def in_process(model: Any, tasks: Sequence[Task], advance: Advance) -> Iterator[tuple[int, Result]]:
    """One task after the other, here."""
    for place, task in enumerate(tasks):
        yield place, task.result(model, advance=advance)


@dataclass(frozen=True)
class _Step:
    named: str
    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    cost: int = 1

    def key(self) -> str:
        return self.named

    def result(self, model: Any, *, advance: Advance) -> Result:
        found = self.function(model, *self.args, **self.kwargs)
        if found is None or isinstance(found, pd.DataFrame):
            return {} if found is None else {"table": found}
        result: Result = found
        return result


class Shards:
    """Where the pieces of a run are made, and where they are kept meanwhile.

    Attributes:
        folder: None where nothing is kept.
        execute: who does the tasks.
        noted: what the run noted when it was begun.
        cost: how much work a shard of a sweep is, in multiplications by weights.
        n_read, n_made: how many pieces were whole already, and how many were not.
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        execute: Executor = in_process,
        noted: Mapping[str, Any] | None = None,
        cost: int = COST_A_SHARD,
    ) -> None:
        self.folder, self.execute, self.noted = folder, execute, dict(noted or {})
        self.cost = cost
        self.n_read = self.n_made = 0

    def results(
        self, model: Any, tasks: Sequence[Task], *, label: str = "", progress: Progress = silent
    ) -> list[Result]:
        """The result of each task, in order. What is not there yet is made, and kept at once.

        Raises:
            DiskFullError: there is no room for a result; those before it stay.
        """
        keys = [task.key() for task in tasks] if self.folder else [""] * len(tasks)
        found = {place: self._read(key) for place, key in enumerate(keys)}
        missing = [place for place, result in found.items() if result is None]
        if missing:
            asked = [tasks[place] for place in missing]
            with progress(label, sum(task.cost for task in asked)) as advance:
                for number, result in self.execute(model, asked, advance):
                    place = missing[number]
                    found[place] = self._written(keys[place], result)
        return [result for result in found.values() if result is not None]

    def step(
        self, name: str, model: Any, function: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> Result:
        """`function(model, *args, **kwargs)` as a step of the run: what decides it is the run.

        Args:
            name: no other step's.
            function: gives a result, or a table, which is then the result's `table`, or None.
        """
        key = fingerprint({"step": name, "decides": self.noted.get("decides")})
        (result,) = self.results(model, [_Step(key, function, args, kwargs)])
        return result

    def table(
        self,
        name: str,
        model: Any,
        function: Callable[..., pd.DataFrame],
        *args: Any,
        **kwargs: Any,
    ) -> pd.DataFrame:
        """A step that gives one table."""
        table: pd.DataFrame = self.step(name, model, function, *args, **kwargs)["table"]
        return table

    def _read(self, key: str) -> Result | None:
        if self.folder is None:
            return None
        path = self.folder / key
        if not path.is_file():
            return None
        content = path.read_bytes()
        digest, payload = content[:_DIGEST], content[_DIGEST:]
        if hashlib.sha256(payload).hexdigest().encode() != digest:
            say(f"{path} is damaged and is made again.")
            return None
        self.n_read += 1
        return _unpacked(payload)

    def _written(self, key: str, result: Result) -> Result:
        """What will be read: a run that goes on and one that was never cut off see the same."""
        self.n_made += 1
        if self.folder is None:
            return result
        payload = _packed(result)
        write_whole(self.folder / key, hashlib.sha256(payload).hexdigest().encode() + payload)
        return _unpacked(payload)


@contextmanager
def opened(
    folder: Path,
    decides: Mapping[str, Any],
    *,
    noted: Mapping[str, Any],
    execute: Executor = in_process,
    cost: int = COST_A_SHARD,
) -> Iterator[Shards]:
    """The shards of the run that `decides` describes, in `folder`, for one process at a time.

    They go when the block ends well, as the run is then whole, and stay when it does not.

    Args:
        noted: what the run notes when it is begun, and finds again when it goes on.
        execute, cost: as in `Shards`.

    Raises:
        ValueError: the folder holds pieces of another run, or another process writes there.
    """
    place = folder / _FOLDER
    place.mkdir(parents=True, exist_ok=True)
    lock = FileLock(place / _LOCK)  # of the operating system: it goes with the process
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise ValueError(
            f"another process is writing to {folder}; wait until it is done, or give another "
            "folder with --out."
        ) from error
    try:
        for written_to in (folder, place):
            remove_unfinished(written_to)
        there = settings_in(place)
        if there is None:
            there = {"decides": dict(decides), **noted}
            write_settings(place, there)
        else:
            require_same(folder, there["decides"], decides, what="pieces of a different run")
        shards = Shards(place, execute=execute, noted=there, cost=cost)
        yield shards
        shutil.rmtree(place)
    except KeyboardInterrupt:
        say(f"stopped; {len(shards_in(folder))} shards stay in {place}; the same command goes on.")
        raise
    finally:
        lock.release()


def shards_in(folder: Path) -> dict[str, tuple[int, int]]:
    """The shards that are whole in the folder of a run, each with what changes if it is made again.

    That is its inode and the time of its writing, in nanoseconds.
    """
    found = {}
    for path in (folder / _FOLDER).glob("[!.]*"):
        if len(path.name) == _DIGEST:
            written = path.stat()
            found[path.name] = (written.st_ino, written.st_mtime_ns)
    return found


def discard_shards(folder: Path) -> None:
    """Remove what a process that was killed at the very end has left beside a whole run."""
    shutil.rmtree(folder / _FOLDER, ignore_errors=True)


def _packed(result: Result) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, value in result.items():
            if isinstance(value, pd.DataFrame):
                archive.writestr(f"{name}.parquet", value.to_parquet(index=False))
            elif isinstance(value, np.ndarray):
                inner = io.BytesIO()
                np.save(inner, value, allow_pickle=False)
                archive.writestr(f"{name}.npy", inner.getvalue())
            else:
                archive.writestr(f"{name}.json", json.dumps(value))
    return buffer.getvalue()


def _unpacked(payload: bytes) -> Result:
    result: dict[str, Any] = {}
    with zipfile.ZipFile(io.BytesIO(payload)) as archive:
        for member in archive.namelist():
            name, kind = member.rsplit(".", 1)
            content = archive.read(member)
            if kind == "parquet":
                result[name] = pd.read_parquet(io.BytesIO(content))
            elif kind == "npy":
                result[name] = np.load(io.BytesIO(content), allow_pickle=False)
            else:
                result[name] = json.loads(content)
    return result
