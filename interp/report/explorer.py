"""One head and one item at a time: the interactive part of a page, as data for its script.

The drawing is in the scripts of `web`. Whatever a token holds, it reaches the page inside a JSON
string in which no character can end the script, and the script sets it as text.
"""

import json
from dataclasses import dataclass
from html import escape
from importlib import resources
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from interp.contrast import selectivity
from interp.report.figures import VERDICT_COLOURS
from interp.report.spelling import SHORT, counted, kind, visible
from interp.report.tidy import TIERS, colour_limit, finest_tier, measured_tiers, telling_pair
from interp.store import EXAMPLES, Run

OTHERS = -1
"""The position of the row that sums over the tokens left out of a long prompt."""
_PARTS = ("writing", "grids", "scatter", "card", "explorer")
_MILLI = 1000
_FIGURES = 4
_VALUES = ("raw", "norm_share", "projected")


@dataclass(frozen=True)
class HeadsView:
    """The interactive part of a run's page by itself, as a notebook shows it in a cell."""

    run: Run

    def html(self) -> str:
        """A whole page with nothing else on it.

        Raises:
            ValueError: the run ranks no heads.
        """
        if "verdicts" not in self.run.tables:
            raise ValueError("this run ranks no heads, since its behaviour does not pass the gate.")
        return (
            '<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>heads</title>'
            f"<style>{asset('page.css')}{asset('explorer.css')}</style>"
            f"{fragment(self.run)}<script>{script()}</script></html>"
        )

    def _repr_html_(self) -> str:
        """The page in a frame of its own, so that any number of them stand in one notebook."""
        return (
            f'<iframe title="heads" style="width:100%;height:60rem;border:0" '
            f'srcdoc="{escape(self.html())}"></iframe>'
        )


def asset(name: str) -> Markup:
    """A style sheet of this package, or a part of its script, to be written into a page."""
    text = (resources.files("interp.report") / "web" / name).read_text(encoding="utf-8")
    return Markup(text)


def script() -> Markup:
    """The script that draws every `fragment` of a page; it leaves no name behind."""
    parts = [asset(f"{name}.js") for name in _PARTS]
    return Markup("\n").join([Markup('(() => {\n"use strict";'), *parts, Markup("})();")])


def fragment(run: Run) -> Markup:
    """The element that the script fills, with its data."""
    data = in_script(explored(run))
    return Markup(
        '<div class="explorer"><noscript>Choosing heads needs JavaScript.</noscript>'
        f'<script type="application/json">{data}</script></div>'
    )


def in_script(data: Any) -> str:
    """JSON that can stand inside a script element: ASCII, and without `<`, `>` and `&`."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def explored(run: Run) -> dict[str, Any]:
    """All that the script needs. Columns are lists with an entry a head; what is undefined is null.

    Attention of an item is a flat list, head after head, token after token, in thousandths.
    """
    verdicts = run.tables["verdicts"].sort_values(["layer", "head"], ignore_index=True)
    measure, thresholds = selectivity(verdicts), run.settings["thresholds"]
    tier = finest_tier(verdicts)
    pair = telling_pair(verdicts, measure)
    first = verdicts["effect_query"].abs().idxmax() if pair is None else _row(verdicts, pair)
    scored: dict[str, Any] | None = None
    if measure is not None:
        scored = {
            "name": SHORT[measure],
            "kind": kind(measure),
            "values": _bounded(verdicts, measure),
            "limit": colour_limit(verdicts[measure], at_least=thresholds["attends"]),
            "raw": _numbers(verdicts["raw"]),
            "sink": _numbers(verdicts["sink_mass"]),
        }
    return {
        "heads": {
            "label": [visible(label) for label in verdicts["label"]],
            "layer": verdicts["layer"].tolist(),
            "head": verdicts["head"].tolist(),
            "verdict": verdicts["verdict"].tolist(),
            "told": [_told(row) for row in verdicts.to_dict("records")],
        },
        "colours": VERDICT_COLOURS,
        "attention": scored,
        "tiers": {
            name: {
                "name": TIERS[name],
                "values": _bounded(verdicts, f"effect_{name}"),
                "p": _numbers(verdicts[f"effect_{name}_p"]),
                "limit": colour_limit(verdicts[f"effect_{name}"], at_least=thresholds["matters"]),
            }
            for name in measured_tiers(verdicts)
        },
        "finest": tier,
        "matters": thresholds["matters"],
        "metric": run.settings["metric"],
        "first": int(first),
        "items": _items(run, verdicts),
    }


def embedded(run: Run) -> str:
    """Which items stand in the page, in a sentence or two."""
    if not has_examples(run):
        return (
            "This run holds no single items: only figures of all of them are shown. A run made "
            "anew has the first pair of each template."
        )
    items = run.tables["examples"]
    n_templates = items["template_id"].nunique()
    left_out = int(items["left_out"].max())
    told = (
        f"In this page: {counted(len(items), 'item')}, the first pair of each of "
        f"{counted(n_templates, 'template')} in both directions, with every head's attention from "
        "the query and its effects; other items are in the tables of the run."
    )
    if left_out:
        most = int((items["n_tokens"] - items["left_out"]).max())
        told += (
            f" Of prompts of more than {most} tokens, source, distractor, query and sink stand "
            "here with the tokens that some head attends to most; the last row sums over the "
            "others."
        )
    return told


def has_examples(run: Run) -> bool:
    """Whether the run holds items in full."""
    return all(name in run.tables for name in EXAMPLES)


def _row(verdicts: pd.DataFrame, pair: pd.DataFrame) -> int:
    """Of the two heads that tell the story, the one that matters."""
    return int(verdicts.index[verdicts["label"] == pair["label"].iloc[1]][0])


def _told(row: dict[str, Any]) -> list[str]:
    """What a verdict rests on, and what became of it on the other half, a sentence each."""
    because = row.get("because")
    sentences = (
        [visible(because[0].upper() + because[1:])] if isinstance(because, str) and because else []
    )
    if isinstance(row.get("held"), (bool, np.bool_)):
        halves = [str(row[f"verdict_{half}"]) for half in ("discovery", "confirmation")]
        told = f"{halves[0]} on both" if halves[0] == halves[1] else ", ".join(halves)
        sentences.append(f"On the two halves of wordings and words: {told}")
    if isinstance(row.get("backups"), str) and row["backups"]:
        sentences.append(f"Backups: {visible(row['backups'])}")
    return sentences


def _items(run: Run, verdicts: pd.DataFrame) -> list[dict[str, Any]]:
    if not has_examples(run):
        return []
    tokens, effects, attention = (
        dict(list(run.tables[name].groupby("item_id", sort=False))) for name in EXAMPLES[1:]
    )
    heads = pd.MultiIndex.from_frame(verdicts[["layer", "head"]])
    return [
        {
            "id": visible(row["item_id"]),
            "template": visible(row["template_id"]),
            "answer": visible(row["answer"]),
            "foil": visible(row["foil"]),
            "intact": _number(row["intact"]),
            "corrupt": _number(row["corrupt"]),
            "tokens": _tokens(tokens[row["item_id"]], row["left_out"]),
            "effects": _effects(effects[row["item_id"]], heads),
            **_attention(attention[row["item_id"]], tokens[row["item_id"]], heads),
        }
        for row in run.tables["examples"].to_dict("records")
    ]


def _tokens(table: pd.DataFrame, left_out: int) -> list[dict[str, Any]]:
    """Each token with its roles; where some are left out, one entry more for the sum over them."""
    shown = [
        {
            "text": visible(row["token"]),
            "at": row["position"],
            "roles": [name for name in _ROLES if row[f"is_{name}"]],
        }
        for row in table.to_dict("records")
    ]
    others = {"text": counted(left_out, "other token"), "at": None, "roles": ["others"]}
    return [*shown, others] if left_out else shown


_ROLES = ("source", "distractor", "query", "special")


def _effects(table: pd.DataFrame, heads: pd.MultiIndex) -> dict[str, list[float | None]]:
    of_heads = table.set_index(["layer", "head"]).reindex(heads)
    return {
        tier: _numbers(of_heads[f"effect_{tier}"])
        for tier in TIERS
        if f"effect_{tier}" in of_heads and of_heads[f"effect_{tier}"].notna().any()
    }


def _attention(
    table: pd.DataFrame, tokens: pd.DataFrame, heads: pd.MultiIndex
) -> dict[str, list[int | None]]:
    """Each measure in thousandths, head after head; empty where the model has no such number."""
    positions = tokens["position"].tolist()
    if (table["position"] == OTHERS).any():
        positions.append(OTHERS)
    found = {}
    for name in _VALUES:
        grid = table.pivot(index=["layer", "head"], columns="position", values=name)
        values = grid.reindex(index=heads, columns=positions).to_numpy(float).ravel()
        found[name] = _thousandths(values) if np.isfinite(values).any() else []
    return found


def _thousandths(values: np.ndarray) -> list[int | None]:
    pairs = zip((_MILLI * values).tolist(), np.isfinite(values).tolist(), strict=True)
    return [round(value) if is_finite else None for value, is_finite in pairs]


def _bounded(table: pd.DataFrame, column: str) -> list[list[float | None]]:
    """The value of each head with both ends of its interval."""
    ends = [_numbers(table[f"{column}{end}"]) for end in ("", "_low", "_high")]
    return [list(each) for each in zip(*ends, strict=True)]


def _numbers(values: "pd.Series[float]") -> list[float | None]:
    return [_number(value) for value in values]


def _number(value: float) -> float | None:
    """To four figures; None where there is none."""
    return float(f"{value:.{_FIGURES}g}") if np.isfinite(value) else None
