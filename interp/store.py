"""Runs on disk: settings in `run.json`, all tables as Parquet, summaries as CSV too."""

import errno
import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

EXAMPLES = ("examples", "example_tokens", "example_effects", "example_attention")
"""The tables of a few items in full; small enough to be kept beside the summaries."""
PER_ITEM = ("items", "scores", "effects", *EXAMPLES)
_SETTINGS = "run.json"
_UNFINISHED = ".unfinished"


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
        write_settings(folder, self.settings)

    @classmethod
    def load(cls, folder: Path) -> "Run":
        """The run that `save` wrote. Per-item tables are there only where they were kept.

        What there is as CSV is read from it, so that a run is the same wherever it was copied to.

        Raises:
            FileNotFoundError: the folder holds no run.
        """
        settings = settings_in(folder)
        if settings is None:
            raise FileNotFoundError(f"{folder} holds no run: there is no {_SETTINGS} in it.")
        tables = {path.stem: pd.read_parquet(path) for path in sorted(folder.glob("*.parquet"))}
        tables |= {path.stem: read_table(path) for path in sorted(folder.glob("*.csv"))}
        return cls(settings=settings, tables=tables)


def read_table(path: Path) -> pd.DataFrame:
    """A CSV table in which only empty cells are missing: tokens such as "NA" stay text."""
    return pd.read_csv(path, keep_default_na=False, na_values=[""])


def fingerprint(decides: Mapping[str, Any]) -> str:
    """SHA-256 over settings, whatever the order of their keys."""
    return hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()


def check_folder(folder: Path, decides: Mapping[str, Any]) -> bool:
    """Whether the folder already holds the run that these settings decide.

    Raises:
        ValueError: it holds another run; the sentence says in what they differ.
    """
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file; expected a folder for the run.")
    there = settings_in(folder)
    if there is None:
        return False
    require_same(folder, there["decides"], decides, what="a different run")
    return True


def require_same(
    folder: Path, there: Mapping[str, Any], decides: Mapping[str, Any], *, what: str
) -> None:
    """Nothing, where the settings that decide a run are those that a folder has.

    Args:
        what: the folder holds where they differ.

    Raises:
        ValueError: they differ; the sentence names the settings.
    """
    decides = json.loads(json.dumps(decides))
    differing = sorted(
        key for key in there.keys() | decides.keys() if there.get(key) != decides.get(key)
    )
    if differing:
        raise ValueError(
            f"{folder} holds {what} ({', '.join(differing)} differ); "
            "give another folder with --out, or delete that one."
        )


def settings_in(folder: Path) -> dict[str, Any] | None:
    """The settings that stand in a folder, with what decides them; None where there are none.

    Raises:
        ValueError: they cannot be read.
    """
    if not (folder / _SETTINGS).is_file():
        return None
    try:
        settings: dict[str, Any] = json.loads((folder / _SETTINGS).read_text())
        settings["decides"]  # a file without it was not written by `write_settings`
    except (ValueError, KeyError) as error:
        raise ValueError(f"{folder / _SETTINGS} is damaged; delete the folder.") from error
    return settings


def write_settings(folder: Path, settings: Mapping[str, Any]) -> None:
    """Write settings into a folder, whole or not at all."""
    text = json.dumps(settings, indent=2, ensure_ascii=False)
    write_whole(folder / _SETTINGS, f"{text}\n".encode())


class DiskFullError(OSError):
    """There is no room for a file. Those before it are whole."""


def write_whole(path: Path, content: bytes) -> None:
    """Write a file under a temporary name beside its place, then rename it.

    Raises:
        DiskFullError: there is no room for it; what stood there before still does.
    """
    temporary = None
    try:
        descriptor, temporary = tempfile.mkstemp(
            dir=path.parent, prefix=f".{path.name}-", suffix=_UNFINISHED
        )
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())  # a rename that outlives a power cut names what was written
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFullError(
                f"there is no room for {path}; what was written before it is whole. Make room and "
                "give the same command again: it goes on from there."
            ) from error
        raise


def remove_unfinished(folder: Path) -> None:
    """Remove what a process that was killed while it wrote has left in a folder.

    Nobody else may be writing there.
    """
    for path in folder.glob(f".*{_UNFINISHED}"):
        path.unlink(missing_ok=True)
