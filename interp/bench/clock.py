"""How long work takes."""

import time
from collections.abc import Callable
from typing import TypeVar

Given = TypeVar("Given")


def timed(work: Callable[[], Given]) -> tuple[float, Given]:
    """Seconds, and what the work gave."""
    start = time.perf_counter()
    given = work()
    return time.perf_counter() - start, given
