"""Shards done by the workers of a Ray cluster: one model a worker, tasks handed out by Ray."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from interp.progress import Advance, say
from interp.shards import Executor, Result, Task

TRIES = 4
"""How often a shard is begun, where the worker that has it is lost, before the run stops."""


class _Worker:
    """What runs on a worker. It loads the model when it is first asked, also after it was lost."""

    def __init__(self, loading: Mapping[str, Any], n_threads: int) -> None:
        self._loading, self._n_threads = dict(loading), n_threads

    @cached_property
    def _model(self) -> Any:
        import torch

        from interp.models import load

        torch.set_num_threads(self._n_threads)
        return load(**self._loading)

    def result(self, place: int, task: Task) -> tuple[int, Result]:
        return place, task.result(self._model, advance=lambda cost: None)


@contextmanager
def on_ray(
    address: str, loading: Mapping[str, Any], *, n_workers: int | None = None
) -> Iterator[Executor]:
    """Who does tasks on a Ray cluster, while the block runs.

    A worker that is lost is begun again by Ray, elsewhere if need be, and so is the shard that it
    had. However the block ends, its workers are let go.

    Args:
        address: of the cluster, as Ray has it; `"auto"` is the one of this machine, which is begun
            if there is none.
        loading: how a worker loads the model: the arguments of `load`.
        n_workers: one a GPU where there are any, and otherwise one a node, when None.

    Raises:
        ConnectionError: workers are lost, again and again.
        ValueError: Ray is not installed, there is no such cluster, or it has too little for so
            many workers.
    """
    ray = _ray()
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is told to anybody
    try:
        ray.init(
            address=None if address == "auto" else address, log_to_driver=False,
            include_dashboard=False if address == "auto" else None, logging_level="error",
        )  # fmt: skip
    except (ConnectionError, ValueError) as error:
        raise ValueError(f"there is no Ray cluster at {address!r}: {error}") from error
    try:
        there = ray.cluster_resources()
        n_gpus, n_cpus = int(there.get("GPU", 0)), int(there.get("CPU", 1))
        count = n_workers or n_gpus or sum(node["Alive"] for node in ray.nodes())
        if count > (n_gpus or n_cpus):
            raise ValueError(
                f"{count} workers need a GPU each where there are GPUs, and otherwise a CPU each; "
                f"the cluster at {address!r} has {n_gpus} GPUs and {n_cpus} CPUs."
            )
        worker = ray.remote(
            num_cpus=1, num_gpus=1 if n_gpus else 0, max_restarts=-1, max_task_retries=TRIES - 1,
            scheduling_strategy="SPREAD",
        )(_Worker)  # fmt: skip
        workers = [worker.remote(loading, max(1, n_cpus // count)) for _ in range(count)]
        say(f"{count} workers on the Ray cluster at {address}")

        def execute(
            model: Any, tasks: Sequence[Task], advance: Advance
        ) -> Iterator[tuple[int, Result]]:
            pool = ray.util.ActorPool(workers)
            numbered = list(enumerate(tasks))
            found = pool.map_unordered(lambda each, pair: each.result.remote(*pair), numbered)
            try:
                for place, result in found:
                    advance(tasks[place].cost)
                    yield place, result
            except ray.exceptions.RayTaskError as error:
                raise error.cause from error
            except ray.exceptions.RayError as error:
                raise ConnectionError(
                    f"workers on the Ray cluster at {address} were lost {TRIES} times over one "
                    f"shard ({str(error).splitlines()[0]}); those that are whole stay, and the "
                    "same command goes on."
                ) from error

        yield execute
    finally:
        ray.shutdown()


def _ray() -> Any:
    try:
        import ray
        import ray.util
    except ModuleNotFoundError as error:
        raise ValueError(
            "Ray is not installed here; run: pip install 'interp[cluster]'."
        ) from error
    return ray
