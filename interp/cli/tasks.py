"""Commands about tasks: run one, look at its items, draw its report again."""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from interp.cli.options import (
    PRESETS,
    DeviceOption,
    DtypeOption,
    JsonOption,
    MemoryOption,
    ModelOption,
    PrefixOption,
    QuietOption,
    RayOption,
    WorkersOption,
    progress_of,
    require_known,
    task_names,
)
from interp.cli.output import print_table, write_json
from interp.models.names import locate


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
    out: Annotated[
        Path | None,
        typer.Option(help="Folder; default reports/MODEL, with -PRESET where it is not quick."),
    ] = None,
    json_file: JsonOption = None,
    quiet: QuietOption = False,
    memory: MemoryOption = None,
    device: DeviceOption = "cpu",
    dtype: DtypeOption = "float32",
    ray: RayOption = None,
    workers: WorkersOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done, and what it would take.")
    ] = False,
) -> None:
    """Behaviour, attention, exact removal of every head, and a page."""  # fmt: skip
    names = task_names(task)
    require_known("preset", preset, PRESETS)
    if workers is not None and ray is None:
        raise ValueError(f"--workers {workers} are those of a Ray cluster; name it with --ray.")
    folder = out or Path("reports") / _folder_name(locate(model).name, preset)
    if dry_run:
        typer.echo(f"would run {', '.join(names)} on {model}, preset {preset}, into {folder}")
        from interp.suite import plan_suite

        planned = plan_suite(
            names, model_name=model, prefix=prefix, preset=preset, seed=seed, memory=memory,
            device=device, dtype=dtype,
        )  # fmt: skip
        for reason, rows in planned.groupby("route"):
            typer.echo(f"route: {reason}")
            print_table(rows.drop(columns="route"))
        seconds = planned["seconds"].sum()
        typer.echo(f"expected: {seconds / 60:.0f} min, {planned['memory_mb'].max():.0f} MB")
        write_json(json_file, "run-plan", planned.to_dict(orient="records"))
        return
    from interp.suite import run_suite, summarise

    loading = {"name": model, "prefix": prefix, "device": device, "dtype": dtype}
    with _executor(ray, loading, workers) as execute:
        runs = run_suite(
            names,
            model_name=model,
            prefix=prefix,
            preset=preset,
            seed=seed,
            folder=folder,
            memory=memory,
            device="cpu" if ray else device,  # the workers compute
            dtype=dtype,
            execute=execute,
            progress=progress_of(quiet),
        )
    summary = summarise(runs)
    print_table(summary)
    typer.echo(f"page: {folder / 'report.html'}")
    write_json(json_file, "run", summary.to_dict(orient="records"))


def _executor(
    ray: str | None, loading: dict[str, str], n_workers: int | None
) -> AbstractContextManager[Any]:
    """Who makes the shards: this process, or the workers of a Ray cluster."""
    if ray is None:
        from interp.shards import in_process

        return nullcontext(in_process)
    from interp.cluster import on_ray

    return on_ray(ray, loading, n_workers=n_workers)


def _folder_name(model: str, preset: str) -> str:
    """A model's runs lie by preset, so that one is no obstacle to another."""
    return model if preset == "quick" else f"{model}-{preset}"


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
    bertviz: Annotated[
        Path | None,
        typer.Option(help="Write the attention of all heads on --item here, as BertViz's page."),
    ] = None,
    item: Annotated[
        str | None, typer.Option(help="The item for --bertviz; the first if left out.")
    ] = None,
    json_file: JsonOption = None,
) -> None:
    """Items as the tokenizer cuts them, their balance, cues and behaviour; checks a FILE."""
    if item is not None and bertviz is None:
        raise ValueError("--item is for --bertviz; name the file for its page too.")
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
    if bertviz is not None:
        _write_bertviz(loaded, reading.items, item, bertviz)
    write_json(json_file, "data", found.as_rows())


def _write_bertviz(model: Any, items: Any, name: str | None, path: Path) -> None:
    """The page of one of the items that are pairs."""
    from interp.bertviz import bertviz_page
    from interp.items import Item

    by_name = {each.item_id: each for each in items if isinstance(each, Item)}
    if not by_name:
        raise ValueError("--bertviz takes pairs; these items are places in natural text.")
    if name is not None:
        require_known("item", name, tuple(by_name))
    chosen = next(iter(by_name.values())) if name is None else by_name[name]
    path.write_text(bertviz_page(model, chosen), encoding="utf-8")
    typer.echo(f"BertViz: {path} ({chosen.item_id})")


def report(
    folder: Annotated[Path, typer.Argument(help="The folder of a run.")],
    figure: Annotated[
        str | None, typer.Option(help="Only this figure, into figures/NAME.FORMAT.")
    ] = None,
    kind: Annotated[str, typer.Option("--format", help="Of the figure: pdf, png or svg.")] = "pdf",
    latex: Annotated[
        bool, typer.Option("--latex", help="Only the table of verdicts, into verdicts.tex.")
    ] = False,
) -> None:
    """Draw figures and page again from the tables of a run."""
    require_known("format", kind, ("pdf", "png", "svg"))
    from interp.report import figure as draw
    from interp.report import verdicts_as_latex, write_report
    from interp.store import Run, write_whole

    run = Run.load(folder)
    if figure is not None:
        path = folder / "figures" / f"{figure}.{kind}"
        path.parent.mkdir(exist_ok=True)
        write_whole(path, draw(run, figure, cast(Any, kind)))
        typer.echo(f"figure: {path}")
    if latex:
        write_whole(folder / "verdicts.tex", verdicts_as_latex(run).encode())
        typer.echo(f"table: {folder / 'verdicts.tex'}")
    if figure is None and not latex:
        write_report(run, folder)
        typer.echo(f"page: {folder / 'report.html'}")
