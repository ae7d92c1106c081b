"""What the tables say, in English sentences with figures. No drawing, no markup.

The effect of a head is a share of the gap: how much of the difference in behaviour between a prompt
and its counterfactual goes away when the head is exchanged. "No effect seen" is never "idle".
"""

from math import isfinite
from typing import Any

import pandas as pd

from interp.contrast import ELSEWHERE, NO_EFFECT, SILENT
from interp.report.spelling import (
    counted,
    interval,
    listed,
    number,
    of_gap,
    percent,
    share_interval,
)
from interp.report.tidy import (
    ATTENDS,
    MATTERS,
    TIERS,
    largest_effects,
    ranked,
    with_reading,
)
from interp.store import Run

_N_NAMED = 3
_N_DESCRIBED = 5


def answer(run: Run) -> list[str]:
    """Three sentences: which heads attend, which matter, and where the two disagree.

    Where the behaviour gate is not passed, what failed instead.
    """
    if "verdicts" not in run.tables:
        return gate(run.tables["behaviour"])
    verdicts = run.tables["verdicts"]
    return [
        which_attend(verdicts),
        which_matter(verdicts),
        where_they_disagree(verdicts, run.tables["league"]),
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


def which_attend(verdicts: pd.DataFrame) -> str:
    """How many heads attend to the source, and the most selective of them."""
    attending = with_reading(verdicts, *ATTENDS)
    first, *others = _rows(ranked(attending if len(attending) else verdicts, "cas"))
    lead = f"{first['label']} (CAS {_cas(first)})"
    if not len(attending):
        return (
            f"No head of {len(verdicts):,} attends to the source at these thresholds; "
            f"the most selective is {lead}."
        )
    if len(attending) == 1:
        return f"Of {counted(len(verdicts), 'head')}, one attends to the source: {lead}."
    rest = listed([f"{row['label']} ({number(row['cas'])})" for row in others[: _N_NAMED - 1]])
    return (
        f"Of {counted(len(verdicts), 'head')}, {len(attending)} attend to the source; "
        f"the most selective is {lead}, then {rest}."
    )


def which_matter(verdicts: pd.DataFrame) -> str:
    """How many heads matter when removed, and the largest effects at the query among them."""
    mattering = with_reading(verdicts, *MATTERS)
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


def where_they_disagree(verdicts: pd.DataFrame, league: pd.DataFrame) -> str:
    """How many heads attend and matter differently, and the rank correlation of the two."""
    clauses = [
        _clause(heads, one=one, several=several)
        for reading, one, several in (
            (NO_EFFECT, "attends with no effect seen", "attend with no effect seen"),
            (ELSEWHERE, "attends and matters elsewhere", "attend and matter elsewhere"),
            (SILENT, "matters without attending", "matter without attending"),
        )
        if len(heads := _in_order(verdicts, reading))
    ]
    n_disagreeing = len(with_reading(verdicts, NO_EFFECT, ELSEWHERE, SILENT))
    disagreement = (
        f"Attention and effect disagree for {counted(n_disagreeing, 'head')}: {listed(clauses)}"
        if clauses
        else "Attention and effect disagree for no head at these thresholds"
    )
    return f"{disagreement}; {agreement(league)}."


def agreement(league: pd.DataFrame) -> str:
    """The rank correlation of CAS with the effect on the edge, as a clause."""
    row = _rows(league.query("measure == 'cas' and tier == 'edge'"))[0]
    return (
        f"over all {row['n_heads']:.0f} heads, CAS and the effect on the edge have a rank "
        f"correlation of {number(row['spearman'])} "
        f"({interval(row['spearman_low'], row['spearman_high'])})"
    )


def disagreements(verdicts: pd.DataFrame) -> dict[str, list[str]]:
    """The heads whose attention and effect disagree, a sentence each, by kind of disagreement."""
    sections = {}
    for heading, reading, judgement in (
        ("They attend, and no effect is seen", NO_EFFECT, ", and no effect is seen"),
        ("They attend and matter, but elsewhere", ELSEWHERE, " and matters, but elsewhere"),
        ("They matter without attending", SILENT, " and matters all the same"),
    ):
        heads = _in_order(verdicts, reading)
        sentences = [
            f"{row['label']} puts {percent(row['raw'])} of its attention on the source "
            f"(CAS {number(row['cas'])}){judgement}: its effect is {_tier_by_tier(row)}."
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


def _in_order(verdicts: pd.DataFrame, reading: str) -> pd.DataFrame:
    """The heads of one reading, the most striking first."""
    heads = with_reading(verdicts, reading)
    return ranked(heads, "cas") if reading == NO_EFFECT else largest_effects(heads, len(heads))


def _clause(heads: pd.DataFrame, *, one: str, several: str) -> str:
    """ "L27H0 attends with no effect seen (…)", or "3 attend with no effect seen, …"."""
    first = _rows(heads)[0]
    figures = f"(CAS {number(first['cas'])}, {_largest_tier(first)})"
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


def _cas(row: dict[str, Any]) -> str:
    return f"{number(row['cas'])}, {interval(row['cas_low'], row['cas_high'])}"


def _effect_interval(row: dict[str, Any], tier: str) -> str:
    return share_interval(row[f"effect_{tier}_low"], row[f"effect_{tier}_high"])
