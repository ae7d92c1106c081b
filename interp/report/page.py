"""Runs to pages: self-contained HTML files, figures inline, nothing loaded from anywhere."""

from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from interp.contrast import selectivity
from interp.report import (
    attractors,
    canvas,
    captions,
    explorer,
    figures,
    head_distances,
    league_figures,
    league_tables,
    league_words,
    tables,
    words,
)
from interp.report.attractors import by_attractor
from interp.report.dictionary import dictionary
from interp.report.html import rendered
from interp.report.in_short import in_short
from interp.report.methods import SCOPE_OF_CLAIMS, methods
from interp.report.overview import overview
from interp.report.spelling import listed
from interp.report.tidy import (
    finest_tier,
    largest_effects,
    measured_tiers,
    telling_pair,
)
from interp.store import Run, write_whole

_N_LARGEST = 10


@dataclass(frozen=True)
class Plate:
    """A figure on a page: what it shows, the drawing, what to see in it, the table behind it."""

    name: str
    title: str
    figure: Figure
    caption: str
    data: str = ""

    @cached_property
    def png(self) -> bytes:
        """The drawing as pixels."""
        return canvas.encoded(self.figure, "png")

    def _repr_png_(self) -> bytes:
        return self.png

    @property
    def source(self) -> str:
        """The drawing as a data URI."""
        return f"data:image/png;base64,{b64encode(self.png).decode()}"


def write_report(run: Run, folder: Path) -> None:
    """Write `report.html`, each figure as `figures/*.png` and `figures/*.svg`, and a dictionary.

    `datapackage.json` says what each column of the run's tables means, and in which unit.

    The page opens with the network off. A run that does not pass its behaviour gate gets a page
    that says so and ranks no heads; one whose pairs name no source, a page of effects alone.

    Args:
        run: `settings`, and the tables `behaviour` and `cells`; where the gate is passed,
            `verdicts` and `by_template` too, and `league` (with `captured`, `left_out` and
            `threshold_sweep`), `stability`, `controls` and `battery` if they have rows.
        folder: where the tables of the run stand; made if need be.
    """
    drawn = list(plates(run))
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    for plate in drawn:
        write_whole(folder / "figures" / f"{plate.name}.png", plate.png)
        write_whole(folder / "figures" / f"{plate.name}.svg", canvas.encoded(plate.figure, "svg"))
    page = rendered(
        "page.html.j2",
        task=run.settings["task"],
        model=run.settings["model"],
        answer=words.answer(run),
        gate=words.gate(run.tables["behaviour"]),
        plates={plate.name: plate for plate in drawn},
        heads=_heads(run) if _is_ranked(run) else None,
        tables=_tables(run),
        leagues=_leagues(run) if _has(run, "league") else None,
        methods=methods(run),
        scope_of_claims=SCOPE_OF_CLAIMS,
    )
    write_whole(folder / "report.html", page)
    write_whole(folder / "datapackage.json", dictionary(run))


def write_index(runs: dict[str, Run], folder: Path) -> None:
    """Write `report.html`, with the answer and the heatmaps of every task of one model.

    Args:
        runs: by the name of the folder, inside `folder`, that holds the run's own page.
        folder: of the model; made if need be.

    Raises:
        ValueError: there are no runs.
    """
    if not runs:
        raise ValueError("expected the runs of at least one task, got none; run a task first.")
    folder.mkdir(parents=True, exist_ok=True)
    entries = [
        {
            "name": name,
            "answer": words.answer(run),
            "in_short": in_short(run),
            "plate": _heatmaps(run) if _is_ranked(run) else None,
        }
        for name, run in runs.items()
    ]
    model = next(iter(runs.values())).settings["model"]
    by_distance = [
        Plate(
            f"distance {number}",
            f"Heads against distance: {name}",
            head_distances.curves(table),
            head_distances.caption(table),
            "summary",
        )
        for number, (name, table) in enumerate(head_distances.families(runs))
    ]
    page = rendered(
        "index.html.j2",
        model=model,
        overview=overview(runs),
        entries=entries,
        by_distance=by_distance,
        scope_of_claims=SCOPE_OF_CLAIMS,
    )
    write_whole(folder / "report.html", page)


def _is_ranked(run: Run) -> bool:
    return "verdicts" in run.tables


def _has(run: Run, name: str) -> bool:
    """Whether the table is there and has rows: without a source, there is no league."""
    return name in run.tables and len(run.tables[name]) > 0


def _heads(run: Run) -> dict[str, Any]:
    """What the page says of the heads besides its answer, and the table of them."""
    verdicts = run.tables["verdicts"]
    measure, tier = selectivity(verdicts), finest_tier(verdicts)
    table = tables.verdicts(verdicts, measure, tier)
    return {
        "definition": "" if measure is None else words.DEFINITIONS[measure],
        "disagreements": None if measure is None else words.disagreements(verdicts, measure),
        "table": table,
        "caption": captions.verdicts(len(table.rows), len(verdicts), measure, tier),
        "labels": set(verdicts["label"]),
        "explorer": explorer.fragment(run),
        "embedded": explorer.embedded(run),
    }


def _leagues(run: Run) -> dict[str, Any]:
    """What the page says of the measures, and a table a league."""
    league = run.tables["league"]
    curves = run.tables.get("captured", pd.DataFrame())
    return {
        "headlines": league_words.headlines(curves, league, run.settings["task"]),
        "how": league_words.how(run.settings["leagues"]),
        "about": league_words.ABOUT,
        "tables": league_tables.leagues(league),
        "left_out": league_words.reasons(run.tables["left_out"]) if _has(run, "left_out") else [],
    }


def plates(run: Run) -> Iterator[Plate]:
    """The figures of a run's page, in reading order."""
    behaviour = run.tables["behaviour"]
    yield Plate(
        "behaviour",
        "The contrast of each template",
        figures.behaviour(behaviour, run.settings["metric"]),
        captions.behaviour(behaviour),
        "behaviour",
    )
    crossed = by_attractor(run.tables["cells"], run.settings["metric"])
    if len(crossed):
        yield Plate(
            "attraction",
            "The behaviour by attractor",
            attractors.attraction(crossed, run.settings["metric"]),
            attractors.caption(crossed),
            "cells",
        )
    if not _is_ranked(run):
        return
    verdicts = run.tables["verdicts"]
    measure, tier = selectivity(verdicts), finest_tier(verdicts)
    pair = telling_pair(verdicts, measure)
    if measure is not None and pair is not None:
        yield Plate(
            "telling_pair",
            "Attention and effect of two heads",
            figures.telling_pair(pair, measure),
            captions.telling_pair(pair, measure),
            "verdicts",
        )
    yield _heatmaps(run)
    if measure is not None:
        matters = run.settings["thresholds"]["matters"]
        yield Plate(
            "attention_against_effect",
            "Attention against effect, head by head",
            figures.attention_against_effect(verdicts, measure, tier, matters=matters),
            captions.attention_against_effect(verdicts, measure, tier),
            "verdicts",
        )
    largest = largest_effects(verdicts, _N_LARGEST)
    yield Plate(
        "tiers",
        f"The largest effects {listed(list(measured_tiers(verdicts).values()))}",
        figures.tiers(largest),
        captions.tiers(largest),
        "verdicts",
    )
    if _has(run, "captured"):
        curves = run.tables["captured"]
        yield Plate(
            "captured",
            "The share of the effect that the leading heads of each measure capture",
            league_figures.captured(curves, run.tables["league"]),
            captions.captured(curves),
            "captured",
        )
    if _has(run, "league"):
        league = run.tables["league"]
        yield Plate(
            "league",
            "Rank correlation of each measure with the effects",
            league_figures.league(league),
            captions.league(league),
            "league",
        )


def _heatmaps(run: Run) -> Plate:
    verdicts, thresholds = run.tables["verdicts"], run.settings["thresholds"]
    measure = selectivity(verdicts)
    pair = telling_pair(verdicts, measure)
    return Plate(
        "heatmaps",
        f"{'Effect' if measure is None else 'Attention and effect'} by layer and head",
        figures.heatmaps(verdicts, measure, thresholds=thresholds, pair=pair),
        captions.heatmaps(verdicts, measure, thresholds=thresholds, pair=pair),
        "verdicts",
    )


def _tables(run: Run) -> dict[str, tables.Table]:
    """The tables that this run has, written out."""
    written = {
        "behaviour": tables.behaviour,
        "cells": tables.cells,
        "threshold_sweep": league_tables.threshold_sweep,
        "stability": league_tables.stability,
        "battery": tables.battery,
        "controls": tables.controls,
    }
    there = {name: write(run.tables[name]) for name, write in written.items() if _has(run, name)}
    if _is_ranked(run):
        measure = selectivity(run.tables["verdicts"])
        pair = telling_pair(run.tables["verdicts"], measure)
        if measure is not None and pair is not None:
            there["by_template"] = tables.by_template(run.tables["by_template"], pair, measure)
    return there
