"""Options that commands share, and what their values may be."""

from pathlib import Path
from typing import Annotated, Any

import typer

from interp.heads import nearest_name

TASKS = ("agreement", "coreference", "long_range")
PRESETS = ("quick", "standard", "full")

ModelOption = Annotated[
    str, typer.Option("--model", "-m", help="Bundled name, directory, .gguf file or hub name.")
]
PrefixOption = Annotated[
    str, typer.Option(help="What stands before every text: document, bos or none.")
]
JsonOption = Annotated[Path | None, typer.Option("--json", help="Write the result here as JSON.")]
MemoryOption = Annotated[
    int | None,
    typer.Option(
        help="For sweeps, in MB; half of what is free if left out.",
        min=1,
        callback=lambda megabytes: None if megabytes is None else megabytes * 10**6,
    ),
]
DeviceOption = Annotated[
    str,
    typer.Option(help="Where the model is: cpu, cuda, cuda:1, or auto, over all that is there."),
]
DtypeOption = Annotated[str, typer.Option(help="Of its parameters: float32, bfloat16 or float16.")]
RayOption = Annotated[
    str | None,
    typer.Option(
        "--ray", help="Do the work on a Ray cluster: its address, or auto for this machine's."
    ),
]
WorkersOption = Annotated[
    int | None,
    typer.Option(min=1, help="With --ray; one a GPU, or one a node without GPUs, if left out."),
]
QuietOption = Annotated[bool, typer.Option("--quiet", help="No progress on stderr.")]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Check what was asked, say what would be done, and stop.")
]


def task_names(task: str) -> list[str]:
    """The tasks that an argument names.

    Raises:
        ValueError: an unknown one, with the nearest; FileNotFoundError: there is no such file.
    """
    if task == "all":
        return list(TASKS)
    if "/" in task and not task.endswith(".jsonl"):
        from interp.tasks import known_name

        known_name(task)
        return [task]
    if task.endswith(".jsonl"):
        if not Path(task).is_file():
            raise FileNotFoundError(f"there is no file {task}.")
        return [task]
    require_known("task", task, (*TASKS, "all"))
    return [task]


def require_known(what: str, name: str, names: tuple[str, ...]) -> None:
    """Nothing, when the name is one of these; else a ValueError with the nearest."""
    if name not in names:
        nearest = nearest_name(name, names)
        hint = f"did you mean {nearest!r}?" if nearest else f"there are {', '.join(names)}."
        raise ValueError(f"unknown {what} {name!r}; {hint}")


def progress_of(quiet: bool) -> Any:
    """Progress on stderr, or none."""
    from interp.progress import on_stderr, silent

    return silent if quiet else on_stderr
