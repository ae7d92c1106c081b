"""What commands print, and write for machines."""

import json
from pathlib import Path
from typing import Any

import typer


def bounded(row: Any, name: str) -> str:
    """A value of a row with its interval."""
    return f"{row[name]:.2f} ({row[f'{name}_low']:.2f} to {row[f'{name}_high']:.2f})"


def means(measures: Any) -> str:
    """Each measure with its mean; those that the model has not are left out."""
    defined = measures[measures["n_valid"] > 0]
    named = zip(defined["measure"], defined["value"], strict=True)
    return ", ".join(f"{name} {value:.3g}" for name, value in named)


def short(value: Any) -> str:
    """Three figures of a number; other things as they are."""
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def print_table(table: Any) -> None:
    """A table on stdout."""
    typer.echo(table.to_string(index=False, float_format=lambda value: f"{value:.3f}"))


def write_json(path: Path | None, found: Any) -> None:
    """The result for machines, where a file was named."""
    if path is not None:
        path.write_text(json.dumps(found, indent=2, default=str) + "\n")
