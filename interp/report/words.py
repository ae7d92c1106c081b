"""What the tables say, in English sentences with figures. No drawing, no markup.

The effect of a head is a share of the gap: how much of the difference in behaviour between a prompt
and its counterfactual goes away when the head is exchanged.
"""

from math import isfinite
from typing import Any

import pandas as pd

from interp.contrast import Verdict, attending, mattering, selectivity
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
    TIERS,
    finest_tier,
    largest_effects,
    ranked,
    undecided,
    with_verdict,
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

_DISAGREEING = (Verdict.IDLE, Verdict.REDUNDANT, Verdict.WRONG_EDGE, Verdict.SILENT)
_HALF = 0.5
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
        *mostly_not_of_heads(run.settings),
        *mostly_undecided(verdicts),
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


def mostly_not_of_heads(settings: dict[str, Any]) -> list[str]:
    """Said first where all heads exchanged at once move less than half of the gap; else nothing."""
    share, low, high = settings.get("all_heads", (1, 1, 1))
    if high >= _HALF:
        return []
    return [
        f"All heads exchanged at once move {percent(share)} of the gap "
        f"({share_interval(low, high)}). The rest lies in the words themselves, such as a pronoun "
        "that is like a name of its gender, and is no head's doing."
    ]


def mostly_undecided(verdicts: pd.DataFrame) -> list[str]:
    """Said first where most heads that attend or may matter are undecided; else nothing."""
    open_heads = undecided(verdicts)
    n_in_question = int((verdicts["verdict"] != Verdict.NEITHER).sum())
    if 2 * len(open_heads) <= n_in_question:
        return []
    needed = open_heads["n_pairs_to_decide"].dropna()
    pairs = (
        f" About {needed.median():,.0f} pairs would decide half of those that pairs can decide."
        if len(needed)
        else " More pairs would not decide: the effects lie between nothing and what counts."
    )
    return [
        f"Read what follows with care: of {counted(n_in_question, 'head')} that attend or may "
        f"matter, {len(open_heads)} are undecided.{pairs}"
    ]


def which_attend(verdicts: pd.DataFrame, measure: str) -> str:
    """How many heads attend to the source, and the highest of them by the measure."""
    attentive = attending(verdicts)
    first, *others = _rows(ranked(attentive if len(attentive) else verdicts, measure))
    value = f"{SHORT[measure]} {number(first[measure])}"
    bounds = interval(first[f"{measure}_low"], first[f"{measure}_high"])
    lead = f"{first['label']} ({value}, {bounds})"
    highest = "most attentive" if measure == "raw" else "most selective"
    if not len(attentive):
        return (
            f"No head of {len(verdicts):,} attends to the source at these thresholds; "
            f"the {highest} is {lead}."
        )
    if len(attentive) == 1:
        return f"Of {counted(len(verdicts), 'head')}, one attends to the source: {lead}."
    rest = listed([f"{row['label']} ({number(row[measure])})" for row in others[: _N_NAMED - 1]])
    return (
        f"Of {counted(len(verdicts), 'head')}, {len(attentive)} attend to the source; "
        f"the {highest} is {lead}, then {rest}."
    )


def which_matter(verdicts: pd.DataFrame) -> str:
    """How many heads matter when removed, and the largest effects at the query among them."""
    causal = mattering(verdicts)
    largest = ranked(causal if len(causal) else verdicts, "effect_query", by_size=True)
    first, *others = _rows(largest)
    effect = f"{of_gap(first['effect_query'])} ({_effect_interval(first, 'query')})"
    if not len(causal):
        return (
            f"No head of {len(verdicts):,} matters when removed, at these thresholds; "
            f"the largest effect at the query is that of {first['label']}, {effect}."
        )
    if len(causal) == 1:
        return (
            f"Of {counted(len(verdicts), 'head')}, one matters when removed: {first['label']}, "
            f"whose effect at the query is {effect}."
        )
    rest = listed(
        [f"{row['label']} ({percent(row['effect_query'])})" for row in others[: _N_NAMED - 1]]
    )
    return (
        f"Of {counted(len(verdicts), 'head')}, {len(causal)} matter when removed; "
        f"of these {first['label']} has the largest effect at the query, {effect}, then {rest}."
    )


def where_they_disagree(verdicts: pd.DataFrame, league: pd.DataFrame, measure: str) -> str:
    """How many heads attend and matter differently, and the rank correlation of the two."""
    clauses = [
        _clause(heads, measure, one=one, several=several)
        for verdict, one, several in (
            (Verdict.IDLE, "attends and is idle", "attend and are idle"),
            (Verdict.REDUNDANT, "attends and is redundant", "attend and are redundant"),
            (
                Verdict.WRONG_EDGE,
                "attends and matters over another edge",
                "attend and matter over another edge",
            ),
            (Verdict.SILENT, "matters without attending", "matter without attending"),
        )
        if len(heads := _in_order(verdicts, verdict, measure))
    ]
    n_disagreeing = len(with_verdict(verdicts, *_DISAGREEING))
    n_open = len(attending(undecided(verdicts)))
    open_heads = (
        [
            f"for {counted(n_open, 'head')} that {'attends' if n_open == 1 else 'attend'} "
            "nothing is shown"
        ]
        if n_open
        else []
    )
    disagreement = (
        f"Attention and effect disagree for {counted(n_disagreeing, 'head')}: {listed(clauses)}"
        if clauses
        else "Attention and effect disagree for no head at these thresholds"
    )
    rank = agreement(league, measure, finest_tier(verdicts))
    return "; ".join([disagreement, *open_heads, *rank]) + "."


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
    for heading, verdict, judgement in (
        ("They attend, and are idle", Verdict.IDLE, ", and is idle"),
        ("They attend, and others make good for them", Verdict.REDUNDANT, ", and is redundant"),
        (
            "They attend and matter, but not over that edge",
            Verdict.WRONG_EDGE,
            ", and matters over another edge",
        ),
        ("They matter without attending", Verdict.SILENT, " and matters all the same"),
    ):
        heads = _in_order(verdicts, verdict, measure)
        sentences = [
            f"{row['label']} puts {percent(row['raw'])} of its attention on the source"
            f"{_beside_raw(row, measure)}{judgement}{_subtype(row)}: its effect is "
            f"{_tier_by_tier(row)}."
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


def _in_order(verdicts: pd.DataFrame, verdict: Verdict, measure: str) -> pd.DataFrame:
    """The heads of one verdict, the most striking first."""
    heads = with_verdict(verdicts, verdict)
    by_attention = verdict in (Verdict.IDLE, Verdict.REDUNDANT)
    return ranked(heads, measure) if by_attention else largest_effects(heads, len(heads))


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


def _subtype(row: dict[str, Any]) -> str:
    """ " (writes nothing)" after a verdict; nothing where it is not known, or empty in a file."""
    return f" ({row['subtype']})" if isinstance(row["subtype"], str) and row["subtype"] else ""


def _effect_interval(row: dict[str, Any], tier: str) -> str:
    return share_interval(row[f"effect_{tier}_low"], row[f"effect_{tier}_high"])
