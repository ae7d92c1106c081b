"""The data dictionary of a run: what each column of its tables means, and in which unit.

It is written as `datapackage.json`, in the form that Frictionless Data calls a data package.
"""

import json
import tomllib
from functools import cache
from importlib import resources
from typing import Any

import pandas as pd

from interp.store import PER_ITEM, Run

_ENDS = {
    "_low": "lower end of the 95 % interval: ",
    "_high": "upper end of the 95 % interval: ",
    "_p": "p-value, adjusted over all heads: ",
}
_TYPES = {"b": "boolean", "i": "integer", "u": "integer", "f": "number"}
_COUNTED = ("heads", "pairs", "clusters", "tokens", "items", "1 or 0")


def dictionary(run: Run) -> bytes:
    """The tables of a run that are described, with their columns, as the content of a file."""
    known = _described()
    package = {
        "name": f"{run.settings['model']}-{run.settings['task']}".lower(),
        "description": f"metric: {run.settings['metric']}; undefined values are empty",
        "resources": [
            {
                "name": name,
                "path": f"{name}.{'parquet' if name in PER_ITEM else 'csv'}",
                "description": known.get(name, {}).get("about", ""),
                "schema": {
                    "fields": [_field(name, column, table[column]) for column in table.columns]
                },
            }
            for name, table in sorted(run.tables.items())
        ],
    }
    return f"{json.dumps(package, indent=1, ensure_ascii=False)}\n".encode()


def described(table: str, column: str) -> tuple[str, str] | None:
    """The meaning of a column and its unit; None where nothing is said of it."""
    known = _described()
    of_table = known["everywhere"] | known.get(table, {})
    if column in of_table:
        meaning, unit = of_table[column]
        return meaning, unit
    for end, what in _ENDS.items():
        base = column.removesuffix(end)
        if base != column and base in of_table:
            meaning, unit = of_table[base]
            return f"{what}{meaning}", "probability" if end == "_p" else unit
    return None


def _field(table: str, column: str, values: "pd.Series[Any]") -> dict[str, str]:
    meaning, unit = described(table, column) or ("", "")
    field = {"name": column, "type": _kind(values, unit), "description": meaning}
    return field | ({"unit": unit} if unit else {})


def _kind(values: "pd.Series[Any]", unit: str) -> str:
    """What a column holds, whatever its values happen to look like in this run's file."""
    if unit == "true or false":
        return "boolean"
    if unit and unit not in _COUNTED:
        return "number"
    is_empty = bool(values.isna().all())
    return "string" if not unit and is_empty else _TYPES.get(values.dtype.kind, "string")


@cache
def _described() -> dict[str, dict[str, Any]]:
    text = (resources.files("interp.report") / "columns.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
