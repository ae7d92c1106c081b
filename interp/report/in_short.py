"""One phenomenon in a paragraph, for a reader who is new to it. No drawing, no markup."""

from typing import Any

import pandas as pd

from interp.contrast import Verdict, attending, mattering, selectivity
from interp.report import league_words
from interp.report.spelling import counted, listed, number
from interp.report.tidy import TIERS, with_verdict
from interp.store import Run

_OF_ATTENDING = {
    Verdict.CONSISTENT: ("does what its attention says", "do what their attention says"),
    Verdict.PARTLY: ("does so in part", "do so in part"),
    Verdict.WRONG_EDGE: ("matters over another edge", "matter over another edge"),
    Verdict.REDUNDANT: ("is redundant", "are redundant"),
    Verdict.IDLE: ("is idle", "are idle"),
    Verdict.NEGATIVE: ("works against the behaviour", "work against the behaviour"),
    Verdict.INCONCLUSIVE: ("is undecided", "are undecided"),
}
_NAMED = 4


def in_short(run: Run) -> list[str]:
    """How many heads attend and what becomes of them, what attention misses, and what held.

    Empty where no head was measured, or attention is not scored.
    """
    if "verdicts" not in run.tables or selectivity(run.tables["verdicts"]) is None:
        return []
    verdicts, league = run.tables["verdicts"], run.tables.get("league", pd.DataFrame())
    captured = run.tables.get("captured", pd.DataFrame())
    return [
        of_attending(verdicts),
        missed(verdicts),
        *node_and_edge(league),
        *league_words.headlines(captured, league, run.settings["task"]),
        *held(verdicts),
    ]


def of_attending(verdicts: pd.DataFrame) -> str:
    """Of the heads that attend, how many are of each verdict."""
    attentive = attending(verdicts)
    counts = attentive["verdict"].value_counts()
    parts = [
        f"{counts[verdict]} {forms[int(counts[verdict] > 1)]}"
        for verdict, forms in _OF_ATTENDING.items()
        if verdict in counts
    ]
    verb = "attends" if len(attentive) == 1 else "attend"
    attend = f"Of {counted(len(verdicts), 'head')}, {len(attentive)} {verb} to the source"
    return f"{attend}: {listed(parts)}." if parts else f"{attend}."


def missed(verdicts: pd.DataFrame) -> str:
    """How many of the heads that matter do not attend."""
    causal, silent = mattering(verdicts), with_verdict(verdicts, Verdict.SILENT)
    verb = "matters" if len(causal) == 1 else "matter"
    if silent.empty:
        return f"{counted(len(causal), 'head')} {verb}, and attention misses none of them."
    named = [str(subtype) for subtype in silent["subtype"].dropna() if subtype]
    kinds = pd.Series([name.split()[0] for name in named], dtype=str).value_counts()
    told = listed([f"{n} {kind}" for kind, n in kinds.items()])
    do, kind = "does" if len(silent) == 1 else "do", f" ({told})" if told else ""
    return (
        f"{counted(len(causal), 'head')} {verb}; attention misses {len(silent)} of them, which "
        f"{do} not attend to the source{kind}: {_some(silent['label'])}."
    )


def node_and_edge(league: pd.DataFrame) -> list[str]:
    """How well raw attention ranks effects on nodes, and on the edge that it speaks of."""
    rows = league[league["measure"] == "raw"].set_index("tier") if len(league) else league
    found = [
        f"{number(rows.loc[tier, 'spearman'])} {name}"
        for tier, name in TIERS.items()
        if tier in rows.index
    ]
    if len(found) < 2:
        return []
    return [
        f"Over all heads, raw attention and the effect have a rank correlation of {listed(found)}."
    ]


def held(verdicts: pd.DataFrame) -> list[str]:
    """What was found on one half of wordings and words, and held on the other."""
    if "held" not in verdicts:
        return []
    sentences = []
    for verdict, what in (
        (Verdict.CONSISTENT, "attention-consistent"),
        (Verdict.SILENT, "silent but causal"),
        (Verdict.IDLE, "idle"),
    ):
        found = verdicts[verdicts["verdict_discovery"] == verdict]
        if found.empty:
            continue
        gone = found[~found["held"]]
        sentences.append(
            f"Of {counted(len(found), 'head')} {what} on one half of the wordings and words, "
            f"{len(found) - len(gone)} {'is' if len(found) - len(gone) == 1 else 'are'} so on the "
            f"other{_became(gone)}."
        )
    return sentences


def _became(gone: pd.DataFrame) -> str:
    """ "; not L2H0 (inconclusive there)"."""
    rows: list[dict[str, Any]] = gone.head(_NAMED).to_dict("records")
    told = [f"{row['label']} ({row['verdict_confirmation']} there)" for row in rows]
    more = f" and {len(gone) - _NAMED} more" if len(gone) > _NAMED else ""
    return f"; not {', '.join(told)}{more}" if told else ""


def _some(labels: "pd.Series[str]") -> str:
    more = [f"{len(labels) - _NAMED} more"] if len(labels) > _NAMED else []
    return listed([*labels.head(_NAMED), *more])
