"""Runs on disk: settings in `run.json`, all tables as Parquet, summaries as CSV too."""

import hashlib
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

EXAMPLES = ("examples", "example_tokens", "example_effects", "example_attention")
"""The tables of a few items in full; small enough to be kept beside the summaries."""
PER_ITEM = ("items", "scores", "effects", *EXAMPLES)
_SETTINGS = "run.json"


@dataclass(frozen=True, kw_only=True)
class Run:
    """What a run was, and what it found.

    Attributes:
        settings: what is constant in the run: model, hash, dtype, prefix, seed, versions. The
            values under `"decides"` are those on which its figures depend.
        tables: by name. `items`, `scores` and `effects` have one row an item or observation,
            `verdicts` one row a head, `league` one row a measure and tier, `captured` one row a
            measure, tier and number of heads, `left_out` one row a measure that is in no league,
            `threshold_sweep` one row two thresholds, `controls` one row a measure and control,
            `behaviour` one row a template, `cells` one row a template and cell. The functions that
            make them document their columns.
    """

    settings: dict[str, Any]
    tables: dict[str, pd.DataFrame]

    @property
    def fingerprint(self) -> str:
        """A hash of what decides the figures; equal for runs that must give the same."""
        return fingerprint(self.settings["decides"])

    def save(self, folder: Path) -> None:
        """Write settings and tables, each whole or not at all, `run.json` last.

        Raises:
            ValueError: the folder holds another run.
        """
        check_folder(folder, self.settings["decides"])
        folder.mkdir(parents=True, exist_ok=True)
        for name, table in self.tables.items():
            write_whole(folder / f"{name}.parquet", table.to_parquet(index=False))
            if name not in PER_ITEM:
                text = table.to_csv(index=False, float_format="%.6g", lineterminator="\n")
                write_whole(folder / f"{name}.csv", text.encode())
        settings = json.dumps(self.settings, indent=2, ensure_ascii=False)
        write_whole(folder / _SETTINGS, f"{settings}\n".encode())

    @classmethod
    def load(cls, folder: Path) -> "Run":
        """The run that `save` wrote. Per-item tables are there only where they were kept.

        What there is as CSV is read from it, so that a run is the same wherever it was copied to.

        Raises:
            FileNotFoundError: the folder holds no run.
        """
        if not (folder / _SETTINGS).is_file():
            raise FileNotFoundError(f"{folder} holds no run: there is no {_SETTINGS} in it.")
        tables = {path.stem: pd.read_parquet(path) for path in sorted(folder.glob("*.parquet"))}
        tables |= {path.stem: read_table(path) for path in sorted(folder.glob("*.csv"))}
        return cls(settings=_read_settings(folder), tables=tables)


def read_table(path: Path) -> pd.DataFrame:
    """A CSV table in which only empty cells are missing: tokens such as "NA" stay text."""
    return pd.read_csv(path, keep_default_na=False, na_values=[""])


def fingerprint(decides: dict[str, Any]) -> str:
    """SHA-256 over settings, whatever the order of their keys."""
    return hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()


def check_folder(folder: Path, decides: dict[str, Any]) -> bool:
    """Whether the folder already holds the run that these settings decide.

    Raises:
        ValueError: it holds another run; the sentence says in what they differ.
    """
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file; expected a folder for the run.")
    if not (folder / _SETTINGS).is_file():
        return False
    there = _read_settings(folder)["decides"]
    decides = json.loads(json.dumps(decides))
    differing = sorted(
        key for key in there.keys() | decides.keys() if there.get(key) != decides.get(key)
    )
    if differing:
        raise ValueError(
            f"{folder} holds a different run ({', '.join(differing)} differ); "
            "give another folder with --out, or delete that one."
        )
    return True


def write_whole(path: Path, content: bytes) -> None:
    """Write a file under a temporary name beside its place, then rename it."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _read_settings(folder: Path) -> dict[str, Any]:
    try:
        settings: dict[str, Any] = json.loads((folder / _SETTINGS).read_text())
        settings["decides"]  # a file without it was not written by `save`
    except (ValueError, KeyError) as error:
        raise ValueError(f"{folder / _SETTINGS} is damaged; delete the folder.") from error
    return settings
