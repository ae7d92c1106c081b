"""What to see in each figure, and what was clipped or left out. The drawing is in `figures`."""

import pandas as pd

from interp.report.spelling import counted, listed, number, percent
from interp.report.tidy import colour_limit, finite, finite_rows

_SIGN = "Positive: the head supports the behaviour; negative: it works against it."


def telling_pair(pair: pd.DataFrame) -> str:
    """For the two heads side by side."""
    attends, matters = pair.to_dict("records")
    return (
        f"Two heads: {attends['label']} ({attends['reading']}) and {matters['label']} "
        f"({matters['reading']}), with 95 % intervals where there are any. Left, what attention "
        "says: the probability that the query gives to the source, and how far it moves with the "
        "source (CAS). Right, what exchanging the head for its counterfactual self takes away, as "
        f"a share of the behavioural gap: everywhere, at the query only, and on the edge from "
        f"query to source only. {_SIGN}"
    )


def heatmaps(
    verdicts: pd.DataFrame, *, thresholds: dict[str, float], pair: pd.DataFrame | None
) -> str:
    """For attention and effect on one grid."""
    cas, effect = verdicts["cas"], verdicts["effect_query"]
    cas_limit = colour_limit(cas, at_least=thresholds["attends"])
    effect_limit = colour_limit(effect, at_least=thresholds["matters"])
    outlined = "" if pair is None else f" Outlined: {listed(pair['label'].to_list())}."
    return (
        f"Attention (CAS, left) and effect at the query (right) of "
        f"{counted(len(verdicts), 'head')}. A cell strongly coloured on one side and pale on the "
        f"other is a head whose attention and effect disagree.{outlined} Colours are centred on 0 "
        "and clipped at the 99th percentile of magnitude, or at the size that counts where that is "
        f"more: ±{number(cas_limit)} and ±{number(100 * effect_limit, 1)} %; the largest "
        f"magnitudes are {number(finite(cas).abs().max())} and "
        f"{percent(finite(effect).abs().max())}."
        + _hatched(cas, "on the left")
        + _hatched(effect, "on the right")
    )


def attention_against_effect(verdicts: pd.DataFrame) -> str:
    """For the scatter."""
    n_drawn = len(finite_rows(verdicts, "cas", "effect_edge"))
    n_left_out = len(verdicts) - n_drawn
    return (
        f"Attention against effect: one point for each of {counted(n_drawn, 'head')}, with 95 % "
        "intervals. Were attention a sign of effect, the points would rise to the right. Points to "
        "the right near 0 % attend with no effect seen; points far from 0 % at the left act on the "
        "edge without selective attention. Dashed: the size from which an effect counts as "
        "mattering. Named: the most selective heads and those with the largest effect on the edge."
        + (f" Without a finite value, not drawn: {counted(n_left_out, 'head')}." * bool(n_left_out))
    )


def tiers(largest: pd.DataFrame) -> str:
    """For the three-tier drop of the heads with the largest effects."""
    return (
        f"The {counted(len(largest), 'head')} with the largest effect at any tier, with 95 % "
        "intervals. From everywhere to the query, the drop is what the head does at other "
        "positions; from the query to the edge, what it reads from other sources. A head whose "
        "attention explains its effect keeps it down to the edge."
    )


def league(table: pd.DataFrame) -> str:
    """For the rank correlations of measures with effects."""
    return (
        f"How well each measure of attention ranks the effects of {table['n_heads'].max():.0f} "
        "heads: Spearman's ρ with 95 % intervals. 1: the same order as the effects; 0: no relation."
    )


def behaviour(table: pd.DataFrame) -> str:
    """For the contrast of each template."""
    return (
        f"The behaviour itself, in {counted(len(table), 'template')}: the contrast between a "
        "prompt and its counterfactual, with 95 % intervals. Heads are ranked on templates "
        "that pass the gate only."
    )


def _hatched(values: pd.Series, side: str) -> str:
    n_missing = len(values) - len(finite(values))
    return f" Hatched {side}: {counted(n_missing, 'cell')} without a finite value." * bool(
        n_missing
    )
