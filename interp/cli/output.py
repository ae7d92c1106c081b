"""What commands print, and write for machines."""

import json
from collections.abc import Iterator, Mapping
from math import isfinite
from pathlib import Path
from typing import Any

import typer

SCHEMA = 1
"""Rises when a field of a command's JSON is renamed, removed, or means something else."""


def bounded(row: Any, name: str) -> str:
    """A value of a row with its interval."""
    return f"{row[name]:.2f} ({row[f'{name}_low']:.2f} to {row[f'{name}_high']:.2f})"


def means(measures: Any) -> str:
    """Each measure with its mean; those that the model has not are left out."""
    defined = measures[measures["n_valid"] > 0]
    named = zip(defined["measure"], defined["value"], strict=True)
    return ", ".join(f"{name} {value:.3g}" for name, value in named)


def card_lines(card: Any, task: str) -> Iterator[str]:
    """Where a head acts and what it looks at, an example a template, and who stands in for it."""
    positions, examples, backups = (
        table[table["task"] == task] for table in (card.positions, card.examples, card.backups)
    )
    for template, rows in positions.groupby("template_id", sort=False):
        yield f"{template}, effect by position: {_by_token(rows, 'effect')}"
        keys = examples[examples["template_id"] == template]
        yield f"{template}, attends in an example to: {_by_token(keys, 'weight')}"
    for row in backups[backups["backups"] != ""].to_dict("records"):
        yield f"backups {row['backups']}: {row['conditional']:.2f} once they are removed"


def _by_token(rows: Any, column: str) -> str:
    told = zip(rows["position"], rows["token"], rows[column], strict=True)
    return ", ".join(f"{position} {token!r} {value:.2f}" for position, token, value in told)


def short(value: Any) -> str:
    """Three figures of a number; other things as they are."""
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def print_table(table: Any) -> None:
    """A table on stdout."""
    typer.echo(table.to_string(index=False, float_format=lambda value: f"{value:.3f}"))


def write_json(path: Path | None, command: str, found: Any) -> None:
    """The result for machines, where a file was named: `{"schema": "interp/run/1", "result": …}`.

    The number is that of `SCHEMA`. What is undefined is null.
    """
    if path is not None:
        whole = {"schema": f"interp/{command}/{SCHEMA}", "result": _plain(found)}
        path.write_text(json.dumps(whole, indent=2, default=str, allow_nan=False) + "\n")


def _plain(found: Any) -> Any:
    """The same without numbers that JSON does not know, and with numbers of Python's own."""
    if isinstance(found, Mapping):
        return {str(name): _plain(each) for name, each in found.items()}
    if isinstance(found, (list, tuple)):
        return [_plain(each) for each in found]
    value = found.item() if hasattr(found, "item") else found
    return None if isinstance(value, float) and not isfinite(value) else value
