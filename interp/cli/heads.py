"""Commands about heads: all of a model, or the card of one."""

from typing import Annotated

import typer

from interp.cli.options import (
    PRESETS,
    DryRunOption,
    JsonOption,
    ModelOption,
    PrefixOption,
    QuietOption,
    progress_of,
    require_known,
    task_names,
)
from interp.cli.output import bounded, card_lines, means, write_json
from interp.heads import as_heads
from interp.models.names import locate


def heads(
    model: Annotated[
        str, typer.Argument(help="Bundled name, directory, .gguf or hub name.")
    ] = "smollm2-135m",
    prefix: PrefixOption = "document",
    top: Annotated[int, typer.Option(min=1, help="Heads named for each score.")] = 5,
    json_file: JsonOption = None,
    quiet: QuietOption = False,
    dry_run: DryRunOption = False,
) -> None:
    """The task-free battery: offsets, repeats, sinks, spread, copying, retrieval, circuits."""
    if dry_run:
        place = locate(model)
        typer.echo(f"would score every head of {place.name} on random repeats, prefix {prefix}")
        return
    from interp.measures.battery import repeat_losses
    from interp.measures.overview import overview
    from interp.measures.repeats import repeats
    from interp.models import load

    loaded = load(model, prefix=prefix)
    sequences = repeats(loaded)
    found = overview(loaded, sequences, progress=progress_of(quiet))
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
    write_json(json_file, "heads", found.table.to_dict(orient="records"))


def head(
    name: Annotated[str, typer.Argument(help='A head, such as "L27H0" or "27.0".')],
    model: ModelOption = "smollm2-135m",
    task: Annotated[str, typer.Option(help="One of the tasks, or all.")] = "all",
    prefix: PrefixOption = "document",
    preset: Annotated[str, typer.Option(help="quick, standard or full.")] = "quick",
    json_file: JsonOption = None,
    quiet: QuietOption = False,
    dry_run: DryRunOption = False,
) -> None:
    """One head's card: attention, effects tier by tier and position by position, backups."""
    names = task_names(task)
    require_known("preset", preset, PRESETS)
    (asked,), place = as_heads(name), locate(model)
    if dry_run:
        told = f"{asked.label} of {place.name} on {', '.join(names)}"
        typer.echo(
            f"would remove {told}, preset {preset}, everywhere, at the query and on the edge"
        )
        return
    from interp.card import head_card

    card = head_card(
        name, names, model_name=model, prefix=prefix, preset=preset, progress=progress_of(quiet)
    )
    for _, row in card.verdicts.iterrows():
        told = f"; {row['because']}" if row["because"] else ""
        typer.echo(f"{row['label']}, {row['task']}: {row['verdict']}{told}")
        typer.echo(f"  raw attention {row['raw']:.2f}, CAS {bounded(row, 'cas')}")
        for tier in ("everywhere", "query", "edge"):
            typer.echo(f"  effect, {tier}: {bounded(row, f'effect_{tier}')} of the gap")
        typer.echo(f"  direct effect: {bounded(row, 'direct')} of the gap")
        of_task = card.measures[card.measures["task"] == row["task"]]
        for league, measures in of_task.groupby("league", sort=False):
            typer.echo(f"  {league}: {means(measures)}")
        for line in card_lines(card, row["task"]):
            typer.echo(f"  {line}")
    rows = card.verdicts.merge(card.wide, on="task").to_dict(orient="records")
    write_json(json_file, "head", rows)
