"""Several tasks on one model: each into its own folder, and a summary of them all."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from interp.asked import as_read, metric_of
from interp.contrast import Verdict, attending, mattering, selectivity
from interp.effects.plan import plan
from interp.heads import nearest_name
from interp.items import Item, ScoringItem
from interp.models import Model, load
from interp.progress import Progress, silent
from interp.report import write_index
from interp.run import run_task, tiers
from interp.settings import N_PAIRS, Settings
from interp.shards import Executor, in_process
from interp.store import Run, write_whole
from interp.tasks import NAMES, build, known_name, read_pairs, write_pairs
from interp.tasks.distance import most_pairs
from interp.tasks.readers import Reading
from interp.tasks.readers.formats import SUFFIXES, read_file
from interp.tasks.readers.reading import reading


def run_suite(
    tasks: Sequence[str],
    *,
    model_name: str,
    folder: Path,
    prefix: str = "document",
    preset: str = "quick",
    seed: int = 0,
    memory: int | None = None,
    device: str = "cpu",
    dtype: str = "float32",
    execute: Executor = in_process,
    progress: Progress = silent,
) -> dict[str, Run]:
    """Run tasks on a model, or read them where they have been run; a `Run` by each task's name.

    Tables and pages go into `folder`, a folder a task, beside a summary of all that is there.
    Among several tasks, one whose behaviour fails the gate is a run without ranked heads.

    Args:
        tasks: names of phenomena or families, or paths to `.jsonl` files of pairs. The folder of a
            family has its name with dashes for slashes.
        memory: in bytes, for the sweeps; half of what is free when None.
        device, dtype: as in `load`.
        execute: who makes the shards of a run.

    Raises:
        ValueError: bad input, or a single task whose behaviour fails the gate (its behaviour is
            written first).
    """
    with progress(f"loading {model_name}", 1):
        model = load(model_name, prefix=prefix, device=device, dtype=dtype)
    runs = {}
    for task in tasks:
        settings = settings_of(task, model, preset=preset, seed=seed)
        runs[settings.task] = run_task(
            model,
            items_of(task, model, preset=preset, seed=seed),
            settings,
            folder=folder / settings.task,
            memory=memory,
            execute=execute,
            progress=progress,
        )
    present = _runs_in(folder) | runs
    write_index(present, folder)
    text = summarise(present).to_csv(index=False, float_format="%.6g", lineterminator="\n")
    write_whole(folder / "summary.csv", text.encode())
    if len(runs) == 1 and "verdicts" not in next(iter(runs.values())).tables:
        _refuse(*runs.items())
    return runs


def plan_suite(
    tasks: Sequence[str],
    *,
    model_name: str,
    prefix: str = "document",
    preset: str = "quick",
    seed: int = 0,
    memory: int | None = None,
    device: str = "cpu",
    dtype: str = "float32",
) -> pd.DataFrame:
    """What the sweeps of `run_suite` will take: the rows of `plan`, and the `task` first."""
    model = load(model_name, prefix=prefix, device=device, dtype=dtype)
    plans = []
    for task in tasks:
        batches = model.encode(items_of(task, model, preset=preset, seed=seed))
        planned = plan(model, batches, scopes=tiers(batches), memory=memory)
        plans.append(planned.assign(task=Path(task).stem))
    table = pd.concat(plans, ignore_index=True)
    return table[["task", *table.columns.drop("task")]]


def settings_of(task: str, model: Model, *, preset: str, seed: int) -> Settings:
    """What a run of a task, or of a file, is told; a file has as many pairs as it has."""
    is_file = task.endswith(".jsonl")
    name = Path(task).stem if is_file else task.replace("/", "-")
    preset = "own pairs" if is_file else preset
    return Settings(task=name, preset=preset, seed=seed, metric=metric_of(model))


def items_of(task: str, model: Model, *, preset: str, seed: int) -> list[Item]:
    """The items of a phenomenon for a model's tokenizer, or those of a file, as it reads them.

    Raises:
        ValueError: an unknown task or preset, with the nearest known one.
    """
    if task.endswith(".jsonl"):
        return as_read(model, read_pairs(Path(task), model.tokenizer))
    known = (("task", task, NAMES), ("preset", preset, tuple(N_PAIRS)))
    for what, name, names in known:
        if name not in names and "/" not in name:
            nearest = nearest_name(name, names) or ", ".join(names)
            raise ValueError(f"unknown {what} {name!r}; did you mean {nearest}?")
    n_pairs = min(N_PAIRS[preset], most_pairs(task))
    return as_read(model, build(task, model.tokenizer, n_pairs=n_pairs, seed=seed))


def reading_of(
    task: str, *, model_name: str, prefix: str, n_pairs: int, seed: int
) -> tuple[Model, str, Reading[Item] | Reading[ScoringItem]]:
    """A model, what a task or file is called, and its items with what was left out.

    Raises:
        ValueError, FileNotFoundError: there is no such task, file or model, in one sentence.
    """
    is_file = Path(task).suffix in SUFFIXES
    if not is_file:
        known_name(task)
    elif not Path(task).is_file():
        raise FileNotFoundError(f"there is no file {task}.")
    model = load(model_name, prefix=prefix)
    if is_file:
        return model, *read_file(Path(task), model.tokenizer)
    items = build(task, model.tokenizer, n_pairs=n_pairs, seed=seed)
    return model, f"seed {seed}", reading(items, [])


def write_items(kept: Reading[Item] | Reading[ScoringItem], path: Path) -> None:
    """Pairs as JSON lines, which `read_pairs` takes back unchanged.

    Raises:
        ValueError: the items are from natural text and have no counterfactual.
    """
    pairs = [item for item in kept.items if isinstance(item, Item)]
    if not pairs:
        raise ValueError(
            "these items are places in natural text, without a counterfactual; only pairs are "
            "written as JSON lines."
        )
    write_pairs(pairs, path)


def summarise(runs: Mapping[str, Run]) -> pd.DataFrame:
    """One row a task: whether it passes, its gap, and the heads at both ends of the contrast."""
    return pd.DataFrame([_row(name, runs[name]) for name in sorted(runs)])


def _row(name: str, run: Run) -> dict[str, object]:
    behaviour, verdicts = run.tables["behaviour"], run.tables.get("verdicts")
    row: dict[str, object] = {
        "task": name,
        "templates_passing": f"{int(behaviour['passes'].sum())}/{len(behaviour)}",
        "n_pairs": run.settings["n_pairs"],
    }
    if verdicts is None:
        return row
    row |= {
        "gap": run.settings["gap"],
        "most_effective": _named(verdicts.nlargest(1, "effect_query"), "effect_query"),
        "matter": len(mattering(verdicts)),
    }
    measure = selectivity(verdicts)
    if measure is None:
        return row
    row |= {
        "attention": measure,
        "most_attentive": _named(verdicts.nlargest(1, measure), measure),
        "attend": len(attending(verdicts)),
        **{
            verdict.replace(" ", "_").replace("-", "_"): int((verdicts["verdict"] == verdict).sum())
            for verdict in Verdict
            if verdict not in (Verdict.NEITHER, Verdict.CAUSAL)
        },
    }
    if "league" in run.tables:
        league = run.tables["league"].set_index(["measure", "tier"])["spearman"]
        row["rank_agreement_on_edge"] = league[measure, "edge"]
    return row


def _named(row: pd.DataFrame, column: str) -> str:
    return "" if row.empty else f"{row['label'].iloc[0]} {row[column].iloc[0]:.2f}"


def _runs_in(folder: Path) -> dict[str, Run]:
    """The runs of a folder: the phenomena in their order, then families by name."""
    found = [path.parent for path in folder.glob("*/run.json")]
    order = {name: place for place, name in enumerate(NAMES)}
    found.sort(key=lambda place: (order.get(place.name, len(order)), place.name))
    return {place.name: Run.load(place) for place in found}


def _refuse(named: tuple[str, Run]) -> None:
    name, run = named
    reasons = " ".join(run.tables["behaviour"]["reason"])
    raise ValueError(
        f"the model does not show {name}, so its heads are not ranked: {reasons} "
        "Its behaviour was written."
    )
