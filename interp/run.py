"""The flow, from items to a page: behaviour, attention, removal, contrast, report."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from interp import steps
from interp.behaviour import behaviour, cells, item_table, noise_floor
from interp.contrast import (
    HALVES,
    Observations,
    Thresholds,
    by_template,
    observations,
    on_halves,
    selectivity,
    stability,
    threshold_sweep,
    verdicts,
)
from interp.effects.engine import sweep
from interp.effects.pieces import limits
from interp.effects.scopes import Scope
from interp.encode import Batch
from interp.evidence import MOST_HEADS, Evidence, direct_where_defined, gathered
from interp.examples import examples
from interp.heads import Head
from interp.items import Item
from interp.leagues import leagues, leagues_of_patterns
from interp.measures.relations import chance
from interp.measures.repeats import why_no_repeats
from interp.models.model import Model
from interp.progress import Progress, silent
from interp.report import write_report
from interp.settings import QUICK, Settings, deciding, recorded, versions
from interp.shards import COST_A_SHARD, Executor, Shards, discard_shards, in_process, opened
from interp.stats import max_t, reach_note, support_note
from interp.store import Run, check_folder

LONGEST_EVERYWHERE = 32


def run_task(
    model: Model,
    items: Sequence[Item],
    settings: Settings,
    *,
    folder: Path,
    memory: int | None = None,
    execute: Executor = in_process,
    progress: Progress = silent,
) -> Run:
    """Every head of a model on the items of one task, written to `folder` and returned.

    Templates that fail the behaviour gate are reported as behaviour, and no head is measured on
    them. A folder that already holds this very run is read instead; one that holds shards of it,
    because it was cut off, is gone on with.

    Args:
        memory: in bytes, for the sweeps; what the run was begun with, or half of what is free.
        execute: who makes the shards of the sweeps.

    Raises:
        ValueError: the folder holds a different run, another process writes there, or an item is
            not as it should be.
        ArithmeticError: the engine and the plain loop disagree.
        DiskFullError: there is no room; what was written stays.
    """
    if check_folder(folder, deciding(model, items, settings)):
        run = Run.load(folder)
        discard_shards(folder)
        if not (folder / "report.html").is_file():
            write_report(run, folder)
        return run
    run = measure_into(
        folder, model, items, settings, memory=memory, execute=execute, progress=progress
    )
    write_report(run, folder)
    return run


def measure_into(
    folder: Path,
    model: Model,
    items: Sequence[Item],
    settings: Settings,
    *,
    memory: int | None = None,
    execute: Executor = in_process,
    cost_a_shard: int = COST_A_SHARD,
    progress: Progress = silent,
) -> Run:
    """`measure`, its tables written to a folder, and its shards there until it is whole.

    Args:
        memory, execute: as in `run_task`.
        cost_a_shard: how much is lost at most where the run is cut off (see `Shards`).

    Raises:
        as `run_task`.
    """
    decides, start = deciding(model, items, settings), limits(model.plain, memory)
    noted = {"memory": start.memory, "versions": versions()}
    with opened(folder, decides, noted=noted, execute=execute, cost=cost_a_shard) as shards:
        run = measure(
            model, items, settings, memory=memory or shards.noted["memory"], shards=shards,
            progress=progress,
        )  # fmt: skip
        run.save(folder)
    return run


def measure(
    model: Model,
    items: Sequence[Item],
    settings: Settings,
    *,
    heads: Sequence[Head] | None = None,
    memory: int | None = None,
    shards: Shards | None = None,
    progress: Progress = silent,
) -> Run:
    """The flow itself; for some heads only, without rank agreement.

    Args:
        shards: who makes what is costly, and where it is kept; here and nowhere when None.
    """
    start = time.monotonic()
    shards = shards or Shards()
    batches = model.encode(items)
    all_items = shards.table("items", model, item_table, batches, settings.metric)
    templates = behaviour(all_items, least=settings.metric.least_contrast)
    tables = {"behaviour": templates, "cells": cells(all_items, settings.metric.name)}
    constant = recorded(model, items, settings)

    passing = set(templates.loc[templates["passes"], "template_id"])
    kept = [item for item in items if item.template_id in passing]
    if not kept:
        return Run(settings=constant, tables=tables)

    batches = model.encode(kept)
    kept_items = all_items[all_items["template_id"].isin(passing)].reset_index(drop=True)
    scores = shards.table("scores", model, steps.attention_scores, batches)
    scopes = tiers(batches)
    check = shards.step("check", model, steps.engine_check, batches[0], scopes)
    effects = sweep(
        model, batches, scopes=scopes, metric=settings.metric, heads=heads, memory=memory,
        shards=shards, progress=progress,
    )  # fmt: skip
    even = chance(batches)
    direct = shards.step("direct", model, direct_where_defined, batches, settings.metric)
    data = observations(scores, effects, kept_items, direct.get("table"))
    examined = heads is None and _can_examine(kept_items)
    tables |= {
        "items": kept_items,
        "scores": scores,
        "effects": effects,
        "by_template": by_template(data, kept_items),
        "stability": stability(data, seed=settings.seed),
        **_judged(model, batches if examined else (), data, settings, even, shards, progress),
    }
    how: dict[str, Any] = {}
    if heads is None:
        tables |= examples(model, batches, effects)
        if "edge" in scopes:
            found_leagues = (
                leagues_of_patterns(model, batches[0], data, seed=settings.seed)
                if settings.preset == QUICK
                else leagues(
                    model, batches, data, metric=settings.metric, seed=settings.seed,
                    memory=memory, shards=shards, progress=progress,
                )
            )  # fmt: skip
            tables |= found_leagues.tables | _sweep(tables["verdicts"], settings.thresholds, even)
            how["leagues"] = found_leagues.how
            tables["controls"] = shards.table(
                "controls", model, steps.score_controls, batches, scores, settings.seed
            )
        how["all_heads"] = steps.all_heads(model, batches, scopes[0], settings.metric)
        if not why_no_repeats(model):
            tables["battery"] = shards.table("battery", model, steps.repeat_battery, settings.seed)
    found = _found(model, batches, kept_items, settings, check) | _design(data, settings.seed)
    found |= how | {"chance": even, "seconds": round(time.monotonic() - start)}
    found |= {"shards": {"made": shards.n_made, "read": shards.n_read}}
    if shards.noted.get("versions", constant["versions"]) != constant["versions"]:
        found["begun_with"] = shards.noted["versions"]
    return Run(settings=constant | found, tables=tables)


def _judged(
    model: Model,
    batches: Sequence[Batch],
    data: Observations,
    settings: Settings,
    even: float,
    shards: Shards,
    progress: Progress,
) -> dict[str, pd.DataFrame]:
    """The verdicts, on all items and on either half, and the evidence taken on the batches."""
    thresholds, seed = settings.thresholds, settings.seed
    grounds = (
        gathered(
            model, batches, data, thresholds, seed=seed, chance=even, shards=shards,
            metric=settings.metric, n_heads=0 if settings.preset == QUICK else MOST_HEADS,
            progress=progress,
        )
        if batches
        else Evidence.none()
    )  # fmt: skip
    judged = verdicts(data, thresholds, evidence=grounds.heads, seed=seed, chance=even)
    if data.is_in_halves:
        halves = on_halves(data, thresholds, evidence=grounds.heads, seed=seed, chance=even)
        judged = judged.merge(halves, on=["layer", "head"], validate="1:1")
    return {"verdicts": judged, **grounds.tables}


def _design(data: Observations, seed: int) -> dict[str, Any]:
    """The clusters and halves of the items, and what so few of them cannot show."""
    found = max_t(data.effects[str(Scope.QUERY)], data.clusters, seed=seed)
    notes = (support_note(data.clusters), reach_note(found, data.clusters))
    return {
        "n_clusters": [len(np.unique(way)) for way in data.clusters],
        "n_items_in_halves": [int((data.splits == half).sum()) for half in HALVES],
        "cautions": [note for note in notes if note],
    }


def _can_examine(items: pd.DataFrame) -> bool:
    """Whether each template has clusters for two halves, one the reference of the other."""
    of_template = items.groupby(["template_id", "n_tokens"])[["cluster", "other_cluster"]]
    return bool(of_template.nunique().to_numpy().min() > 1)


def _sweep(table: pd.DataFrame, thresholds: Thresholds, chance: float) -> dict[str, pd.DataFrame]:
    """The sweep over thresholds, where heads attend by some measure."""
    measure = selectivity(table)
    if measure is None:
        return {}
    swept = threshold_sweep(table, measure, alpha=thresholds.alpha, chance=chance)
    return {"threshold_sweep": swept}


def tiers(batches: Sequence[Batch]) -> list[Scope]:
    """The tiers that all batches allow: everywhere on short prompts, edges to named sources."""
    is_possible = {
        Scope.EVERYWHERE: all(batch.ids.shape[1] <= LONGEST_EVERYWHERE for batch in batches),
        Scope.QUERY: True,
        Scope.EDGE: all(bool(batch.source.any(1).all()) for batch in batches),
    }
    return [scope for scope, possible in is_possible.items() if possible]


def _found(
    model: Model,
    batches: Sequence[Batch],
    items: pd.DataFrame,
    settings: Settings,
    check: Mapping[str, Any],
) -> dict[str, Any]:
    return {
        "n_pairs_measured": int(items["pair_id"].nunique()),
        "gap": float((items["clean"] - items["corrupt"]).mean()),
        "noise_floor": noise_floor(model, batches[0], settings.metric),
        "baseline": "resample from the pair",
        "check": dict(check),
    }
