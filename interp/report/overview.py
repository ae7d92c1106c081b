"""All phenomena of a model in one table: what attends, what matters, and how the two agree."""

from collections.abc import Callable, Mapping

import pandas as pd

from interp.contrast import LEAGUES, RANDOM, Verdict, attending, mattering, selectivity
from interp.report.league_words import best_of_leagues, closest_tier, ten_heads
from interp.report.spelling import SHORT, number, unit, whole_percent
from interp.report.tables import Table
from interp.report.tidy import TIERS
from interp.store import Run

_NOTHING = "–"
_VERDICTS = [each for each in Verdict if each not in (Verdict.NEITHER, Verdict.CAUSAL)]


def overview(runs: Mapping[str, Run]) -> Table:
    """A column a run. Rows that no run has anything for are left out."""
    lines: dict[str, Callable[[Run], str]] = {
        "pairs": lambda run: f"{run.settings['n_pairs']:,}",
        "templates that pass the gate": _passing,
        "gap between prompt and counterfactual": _gap,
        "heads that attend to the source": lambda run: _count(run, attending),
        "heads that matter at any tier": lambda run: _count(run, mattering),
        **{f"verdict: {verdict}": _of_verdict(verdict) for verdict in _VERDICTS},
        **{f"ρ of raw attention with effects {tier}": _rank(name) for name, tier in TIERS.items()},
        "held out: the ten heads that attend most remove": lambda run: _share(run, "raw"),
        **{f"held out: the ten by the best measure, {league}": _best(league) for league in LEAGUES},
        "held out: random heads of the same layers": lambda run: _share(run, RANDOM),
    }
    rows = [[name, *(say(run) for run in runs.values())] for name, say in lines.items()]
    return Table(
        columns=["", *runs],
        rows=[row for row in rows if set(row[1:]) != {_NOTHING}],
    )


def _passing(run: Run) -> str:
    passes = run.tables["behaviour"]["passes"]
    return f"{int(passes.sum())} of {len(passes)}"


def _gap(run: Run) -> str:
    if "gap" not in run.settings:
        return _NOTHING
    return f"{number(run.settings['gap'])} {unit(run.settings['metric'])}"


def _verdicts(run: Run) -> pd.DataFrame | None:
    """The heads, where attention and effect were both measured."""
    found = run.tables.get("verdicts")
    return None if found is None or selectivity(found) is None else found


def _count(run: Run, which: Callable[[pd.DataFrame], pd.DataFrame]) -> str:
    found = _verdicts(run)
    return _NOTHING if found is None else str(len(which(found)))


def _of_verdict(verdict: Verdict) -> Callable[[Run], str]:
    def count(run: Run) -> str:
        found = _verdicts(run)
        n_heads = 0 if found is None else int((found["verdict"] == verdict).sum())
        return str(n_heads) if n_heads else _NOTHING

    return count


def _rank(tier: str) -> Callable[[Run], str]:
    def agreement(run: Run) -> str:
        league = run.tables.get("league", pd.DataFrame())
        if not len(league):
            return _NOTHING
        row = league[(league["measure"] == "raw") & (league["tier"] == tier)]
        return number(row["spearman"].item()) if len(row) else _NOTHING

    return agreement


def _share(run: Run, measure: str) -> str:
    captured = run.tables.get("captured", pd.DataFrame())
    if not len(captured):
        return _NOTHING
    return whole_percent(ten_heads(captured, measure, closest_tier(captured))["share"])


def _best(league: str) -> Callable[[Run], str]:
    def best(run: Run) -> str:
        captured = run.tables.get("captured", pd.DataFrame())
        if not len(captured):
            return _NOTHING
        named = best_of_leagues(captured, run.tables["league"])
        if league not in named:
            return _NOTHING
        return f"{_share(run, named[league])} ({SHORT[named[league]]})"

    return best
