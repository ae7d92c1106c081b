"""What the tables say, in English sentences with figures. No drawing, no markup.

The effect of a head is a share of the gap: how much of the difference in behaviour between a prompt
and its counterfactual goes away when the head is exchanged. "No effect seen" is never "idle".
"""

from math import isfinite
from typing import Any

import pandas as pd

from interp.contrast import ELSEWHERE, NO_EFFECT, SILENT, selectivity
from interp.report.spelling import (
    SHORT,
    counted,
    interval,
    listed,
    number,
    of_gap,
    percent,
    share_interval,
)
from interp.report.tidy import (
    ATTENDING,
    MATTERING,
    TIERS,
    finest_tier,
    largest_effects,
    ranked,
    with_reading,
)
from interp.store import Run

DEFINITIONS = {
    "cas": "CAS, counterfactual attention selectivity: how far a head's attention follows the "
    "source when the counterfactual prompt moves it, −1 to 1.",
    "margin": "Margin: attention to the source less attention to the distractor, −1 to 1. Heads "
    "are scored by it because the counterfactual prompts do not move the source.",
    "raw": "Raw attention: the probability that the query gives to the source, 0 to 1. Heads are "
    "scored by it because the counterfactual prompts do not move the source, and there is no "
    "distractor to compare it with.",
}
NOT_SCORED = "The pairs name no source, so attention is not scored."

_N_NAMED = 3
_N_DESCRIBED = 5


def answer(run: Run) -> list[str]:
    """Three sentences: which heads attend, which matter, and where the two disagree.

    Where attention is not scored, which matter; where the behaviour gate is not passed, what failed
    instead.
    """
    if "verdicts" not in run.tables:
        return gate(run.tables["behaviour"])
    verdicts = run.tables["verdicts"]
    measure = selectivity(verdicts)
    if measure is None:
        return [NOT_SCORED, which_matter(verdicts)]
    return [
        which_attend(verdicts, measure),
        which_matter(verdicts),
        where_they_disagree(verdicts, run.tables.get("league", pd.DataFrame()), measure),
    ]


def gate(behaviour: pd.DataFrame) -> list[str]:
    """How many templates show the behaviour, and why each of the others does not."""
    n_passing, n_templates = int(behaviour["passes"].sum()), len(behaviour)
    templates = counted(n_templates, "template")
    if not n_passing:
        count = f"None of the {templates} passes" if n_templates > 1 else "The template fails"
        first = f"{count} the behaviour gate, so no heads are ranked."
    else:
        verb = "passes" if n_passing == 1 else "pass"
        first = f"{n_passing} of {templates} {verb} the behaviour gate."
    return [
        first,
        *(
            f"{template}: {reason.rstrip('.')}."
            for template, reason, passes in behaviour[
                ["template_id", "reason", "passes"]
            ].itertuples(index=False)
            if not passes
        ),
    ]


def which_attend(verdicts: pd.DataFrame, measure: str) -> str:
    """How many heads attend to the source, and the highest of them by the measure."""
    attending = with_reading(verdicts, *ATTENDING)
    first, *others = _rows(ranked(attending if len(attending) else verdicts, measure))
    value = f"{SHORT[measure]} {number(first[measure])}"
    bounds = interval(first[f"{measure}_low"], first[f"{measure}_high"])
    lead = f"{first['label']} ({value}, {bounds})"
    highest = "most attentive" if measure == "raw" else "most selective"
    if not len(attending):
        return (
            f"No head of {len(verdicts):,} attends to the source at these thresholds; "
            f"the {highest} is {lead}."
        )
    if len(attending) == 1:
        return f"Of {counted(len(verdicts), 'head')}, one attends to the source: {lead}."
    rest = listed([f"{row['label']} ({number(row[measure])})" for row in others[: _N_NAMED - 1]])
    return (
        f"Of {counted(len(verdicts), 'head')}, {len(attending)} attend to the source; "
        f"the {highest} is {lead}, then {rest}."
    )


def which_matter(verdicts: pd.DataFrame) -> str:
    """How many heads matter when removed, and the largest effects at the query among them."""
    mattering = with_reading(verdicts, *MATTERING)
    largest = ranked(mattering if len(mattering) else verdicts, "effect_query", by_size=True)
    first, *others = _rows(largest)
    effect = f"{of_gap(first['effect_query'])} ({_effect_interval(first, 'query')})"
    if not len(mattering):
        return (
            f"No head of {len(verdicts):,} matters when removed, at these thresholds; "
            f"the largest effect at the query is that of {first['label']}, {effect}."
        )
    if len(mattering) == 1:
        return (
            f"Of {counted(len(verdicts), 'head')}, one matters when removed: {first['label']}, "
            f"whose effect at the query is {effect}."
        )
    rest = listed(
        [f"{row['label']} ({percent(row['effect_query'])})" for row in others[: _N_NAMED - 1]]
    )
    return (
        f"Of {counted(len(verdicts), 'head')}, {len(mattering)} matter when removed; "
        f"of these {first['label']} has the largest effect at the query, {effect}, then {rest}."
    )


def where_they_disagree(verdicts: pd.DataFrame, league: pd.DataFrame, measure: str) -> str:
    """How many heads attend and matter differently, and the rank correlation of the two."""
    clauses = [
        _clause(heads, measure, one=one, several=several)
        for reading, one, several in (
            (NO_EFFECT, "attends with no effect seen", "attend with no effect seen"),
            (ELSEWHERE, "attends and matters elsewhere", "attend and matter elsewhere"),
            (SILENT, "matters without attending", "matter without attending"),
        )
        if len(heads := _in_order(verdicts, reading, measure))
    ]
    n_disagreeing = len(with_reading(verdicts, NO_EFFECT, ELSEWHERE, SILENT))
    disagreement = (
        f"Attention and effect disagree for {counted(n_disagreeing, 'head')}: {listed(clauses)}"
        if clauses
        else "Attention and effect disagree for no head at these thresholds"
    )
    return "; ".join([disagreement, *agreement(league, measure, finest_tier(verdicts))]) + "."


def agreement(league: pd.DataFrame, measure: str, tier: str) -> list[str]:
    """The rank correlation of a measure with the effect at a tier, as a clause, if there is one."""
    return [
        f"over all {row['n_heads']:.0f} heads, {SHORT[measure]} and the effect {TIERS[tier]} have "
        f"a rank correlation of {number(row['spearman'])} "
        f"({interval(row['spearman_low'], row['spearman_high'])})"
        for row in _rows(league)
        if (row["measure"], row["tier"]) == (measure, tier)
    ]


def disagreements(verdicts: pd.DataFrame, measure: str) -> dict[str, list[str]]:
    """The heads whose attention and effect disagree, a sentence each, by kind of disagreement."""
    sections = {}
    for heading, reading, judgement in (
        ("They attend, and no effect is seen", NO_EFFECT, ", and no effect is seen"),
        ("They attend and matter, but elsewhere", ELSEWHERE, " and matters, but elsewhere"),
        ("They matter without attending", SILENT, " and matters all the same"),
    ):
        heads = _in_order(verdicts, reading, measure)
        sentences = [
            f"{row['label']} puts {percent(row['raw'])} of its attention on the source"
            f"{_beside_raw(row, measure)}{judgement}: its effect is {_tier_by_tier(row)}."
            for row in _rows(heads.head(_N_DESCRIBED))
        ]
        if n_more := len(heads) - len(sentences):
            sentences.append(f"{counted(n_more, 'more head')} of this kind: see the tables.")
        if sentences:
            sections[heading] = sentences
    return sections


def _rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = table.to_dict("records")
    return rows


def _in_order(verdicts: pd.DataFrame, reading: str, measure: str) -> pd.DataFrame:
    """The heads of one reading, the most striking first."""
    heads = with_reading(verdicts, reading)
    return ranked(heads, measure) if reading == NO_EFFECT else largest_effects(heads, len(heads))


def _clause(heads: pd.DataFrame, measure: str, *, one: str, several: str) -> str:
    """ "L27H0 attends with no effect seen (…)", or "3 attend with no effect seen, …"."""
    first = _rows(heads)[0]
    figures = f"({SHORT[measure]} {number(first[measure])}, {_largest_tier(first)})"
    if len(heads) == 1:
        return f"{first['label']} {one} {figures}"
    return f"{len(heads)} {several}, {first['label']} first {figures}"


def _finite_tiers(row: dict[str, Any]) -> dict[str, float]:
    """The effects of a head by the name of their tier, where they were measured."""
    effects = {name: row[f"effect_{tier}"] for tier, name in TIERS.items()}
    return {name: effect for name, effect in effects.items() if isfinite(effect)}


def _largest_tier(row: dict[str, Any]) -> str:
    """ "18 % of the gap everywhere": where the effect is largest."""
    effects = _finite_tiers(row)
    tier = max(effects, key=lambda name: abs(effects[name]))
    return f"{of_gap(effects[tier])} {tier}"


def _tier_by_tier(row: dict[str, Any]) -> str:
    """ "18 % of the gap everywhere, −1 % at the query and less than 1 % on the edge"."""
    (first_tier, first), *others = _finite_tiers(row).items()
    return listed(
        [f"{of_gap(first)} {first_tier}", *(f"{percent(effect)} {tier}" for tier, effect in others)]
    )


def _beside_raw(row: dict[str, Any], measure: str) -> str:
    """ " (CAS 0.57)" after a statement of raw attention; nothing where the measure is that."""
    return "" if measure == "raw" else f" ({SHORT[measure]} {number(row[measure])})"


def _effect_interval(row: dict[str, Any], tier: str) -> str:
    return share_interval(row[f"effect_{tier}_low"], row[f"effect_{tier}_high"])
