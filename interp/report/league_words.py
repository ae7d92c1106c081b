"""What the leagues of measures say, a sentence a row. No drawing, no markup."""

from typing import Any

import pandas as pd

from interp.contrast import LEAGUES, RANDOM
from interp.report.spelling import (
    MEASURES,
    in_words,
    listed,
    points,
    share_interval,
    whole_percent,
)
from interp.report.tidy import TIERS

_K = 10
ABOUT = {
    "pattern only": "Measures of attention: they know the pattern and nothing else.",
    "value-aware": "They know the pattern, and what the values carry.",
    "metric-aware": "They know the metric by which effects are measured, with its sign, and so are "
    "no measures of attention: read them as what the others leave on the table.",
}


def headlines(captured: pd.DataFrame, league: pd.DataFrame, task: str) -> list[str]:
    """What the leading heads by raw attention capture, and by the best measure of each league.

    At the tier closest to what attention claims. Empty where nothing was held out.
    """
    if not len(captured):
        return []
    tier = closest_tier(captured)
    named = dict.fromkeys(["raw", *best_of_leagues(captured, league).values()])
    return [*(share_of(captured, name, tier, task) for name in named), at_random(captured, tier)]


def closest_tier(captured: pd.DataFrame) -> str:
    """The tier closest to what attention claims, of those at which heads were held out."""
    return [name for name in TIERS if name in set(captured["tier"])][-1]


def best_of_leagues(captured: pd.DataFrame, league: pd.DataFrame) -> dict[str, str]:
    """The measure of each league that captures the most at that tier, by the league's name."""
    here = league[(league["tier"] == closest_tier(captured)) & league["area"].notna()]
    return {
        name: str(rows.loc[rows["area"].idxmax(), "measure"])
        for name in LEAGUES
        if len(rows := here[here["league"] == name])
    }


def share_of(captured: pd.DataFrame, measure: str, tier: str, task: str) -> str:
    """What the ten heads that lead by a measure remove, of what the ten most effective do."""
    row = ten_heads(captured, measure, tier)
    one, k = row["k"] == 1, in_words(int(row["k"]))
    who = "attend most" if measure == "raw" else f"stand highest by {MEASURES[measure]}"
    if one:
        who = who.replace("attend", "attends").replace("stand", "stands")
        subject, reference = f"the head that {who} removes", "the most effective head removes"
    else:
        subject, reference = f"the {k} heads that {who} remove", f"the {k} most effective remove"
    sentence = (
        f"On held-out pairs of {task.replace('_', ' ')}, {subject} {whole_percent(row['share'])} "
        f"({share_interval(row['share_low'], row['share_high'])}) of what {reference} {TIERS[tier]}"
    )
    return f"{sentence}." if measure == "raw" else f"{sentence}, {_against_raw(row)}."


def at_random(captured: pd.DataFrame, tier: str) -> str:
    """What random heads of the same layers remove."""
    row = ten_heads(captured, RANDOM, tier)
    return (
        f"Random heads of the same layers remove {whole_percent(row['share'])} (95 % of draws: "
        f"{whole_percent(row['share_low'])} to {whole_percent(row['share_high'])})."
    )


def how(settings: dict[str, Any]) -> list[str]:
    """How the halves were made, how many pairs were used, and where there is no share."""
    used = settings["halves"]
    if "n_pairs_held_out" not in settings:
        return [used]
    held_out = settings["n_pairs_held_out"]
    by_tier = listed(
        [f"{held_out[tier]} {name}" for tier, name in TIERS.items() if tier in held_out]
    )
    sentences = [
        used,
        f"Measures were taken on {settings['n_pairs_scored']} pairs, and of those held out sets of "
        f"heads were removed on {by_tier}; floors rest on {settings['n_pairs_floor']}.",
    ]
    return [*sentences, *settings["no_share"].values()]


def reasons(left_out: pd.DataFrame) -> list[str]:
    """Which measures are in no league, and why, a sentence a reason."""
    sentences = []
    for reason, rows in left_out.groupby("reason", sort=False):
        names = [MEASURES.get(name, name.replace("_", " ")) for name in rows["measure"].unique()]
        sentences.append(f"Left out: {listed(names)}: {str(reason).rstrip('.')}.")
    return sentences


def ten_heads(captured: pd.DataFrame, measure: str, tier: str) -> dict[str, Any]:
    """The row of ten heads, or the nearest number below that has a share; else the least."""
    rows = captured[(captured["measure"] == measure) & (captured["tier"] == tier)]
    up_to = rows[rows["k"] <= _K]
    chosen = up_to.iloc[-1] if len(up_to) else rows.iloc[0]
    row: dict[str, Any] = chosen.to_dict()
    return row


def _against_raw(row: dict[str, Any]) -> str:
    """ "17 points (8 to 26) more than those that attend most"."""
    those = "the one that attends most" if row["k"] == 1 else "those that attend most"
    difference, low, high = (row[f"over_raw{end}"] for end in ("", "_low", "_high"))
    if low <= 0 <= high:
        return (
            f"not certainly more or less than {those} (difference {points(difference)} points, "
            f"95 % interval {points(low)} to {points(high)})"
        )
    if difference < 0:
        difference, low, high = -difference, -high, -low
        than = f"less than {those}"
    else:
        than = f"more than {those}"
    return f"{points(difference)} points (95 % interval {points(low)} to {points(high)}) {than}"
