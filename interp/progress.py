"""How far long work has come, and how long it will take: on stderr, apart from results."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

Advance = Callable[[int], None]
Progress = Callable[[str, int], AbstractContextManager[Advance]]
_SECONDS_BETWEEN_LINES = 10.0


@contextmanager
def silent(label: str, total: int) -> Iterator[Advance]:
    """No word of progress."""
    yield lambda cost: None


def say(message: str) -> None:
    """One line to the person who waits."""
    print(message, file=sys.stderr, flush=True)  # noqa: T201  stderr is where progress belongs


@contextmanager
def on_stderr(label: str, total: int) -> Iterator[Advance]:
    """A bar with the time left in a terminal, a line now and then elsewhere.

    `total` is in any unit of cost; each call of what is yielded adds the cost of work done.
    """
    if sys.stderr.isatty():
        with _bar(label, total) as advance_bar:
            yield advance_bar
        return
    start = last = time.monotonic()
    done = 0
    say(f"{label}: started")

    def advance(cost: int) -> None:
        nonlocal done, last
        done += cost
        now = time.monotonic()
        if now - last >= _SECONDS_BETWEEN_LINES and done < total:
            last = now
            left = (now - start) * (total - done) / done
            say(f"{label}: {done / total:.0%}, about {left:.0f} s left")

    yield advance
    say(f"{label}: done in {time.monotonic() - start:.0f} s")


@contextmanager
def _bar(label: str, total: int) -> Iterator[Advance]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(label, total=total)
        yield lambda cost: bar.advance(task, cost)
