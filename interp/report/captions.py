"""What to see in each figure, and what was clipped or left out. The drawing is in `figures`."""

import pandas as pd

from interp.report.spelling import SHORT, counted, kind, listed, number, percent
from interp.report.tidy import TIERS, colour_limit, finite, finite_rows, measured_tiers

_SIGN = "Positive: the head supports the behaviour; negative: it works against it."
_BESIDE_RAW = {
    "cas": ", and how far it moves with the source (CAS)",
    "margin": ", and how far it exceeds that given to the distractor (margin)",
    "raw": "",
}
_PLACES = {
    "everywhere": "everywhere",
    "query": "at the query only",
    "edge": "on the edge from query to source only",
}
_DOT = " A dot: significant, adjusted over all heads, and of a size that counts."
_CLIPPED = (
    "Colours are centred on 0 and clipped at the 99th percentile of magnitude, or at the size that "
    "counts where that is more"
)


def telling_pair(pair: pd.DataFrame, measure: str) -> str:
    """For the two heads side by side."""
    attends, matters = pair.to_dict("records")
    return (
        f"Two heads: {attends['label']} ({attends['verdict']}) and {matters['label']} "
        f"({matters['verdict']}), with 95 % intervals where there are any. Left, what attention "
        f"says: the probability that the query gives to the source{_BESIDE_RAW[measure]}. Right, "
        "what exchanging the head for its counterfactual self takes away, as a share of the "
        f"behavioural gap: {listed([_PLACES[tier] for tier in measured_tiers(pair)])}. {_SIGN}"
    )


def heatmaps(
    verdicts: pd.DataFrame,
    measure: str | None,
    *,
    thresholds: dict[str, float],
    pair: pd.DataFrame | None,
) -> str:
    """For attention and effect on one grid, or the effect alone."""
    effect, n_heads = verdicts["effect_query"], counted(len(verdicts), "head")
    effect_limit = number(100 * colour_limit(effect, at_least=thresholds["matters"]), 1)
    largest_effect = percent(finite(effect).abs().max())
    if measure is None:
        return (
            f"Effect at the query of {n_heads}. {_CLIPPED}: ±{effect_limit} %; the largest "
            f"magnitude is {largest_effect}. {_SIGN}{_DOT}{_hatched(effect)}"
        )
    attention = verdicts[measure]
    attention_limit = number(colour_limit(attention, at_least=thresholds["attends"]))
    outlined = "" if pair is None else f" Outlined: {listed(pair['label'].to_list())}."
    return (
        f"Attention ({kind(measure)}, left) and effect at the query (right) of {n_heads}. A cell "
        "strongly coloured on one side and pale on the other is a head whose attention and effect "
        f"disagree.{outlined} {_CLIPPED}: ±{attention_limit} and ±{effect_limit} %; the largest "
        f"magnitudes are {number(finite(attention).abs().max())} and {largest_effect}.{_DOT}"
        + _hatched(attention, " on the left")
        + _hatched(effect, " on the right")
    )


def attention_against_effect(verdicts: pd.DataFrame, measure: str, tier: str) -> str:
    """For the scatter."""
    n_drawn = len(finite_rows(verdicts, measure, f"effect_{tier}"))
    n_left_out = len(verdicts) - n_drawn
    return (
        f"Attention ({kind(measure)}) against effect: one point for each of "
        f"{counted(n_drawn, 'head')}, with 95 % intervals. Were attention a sign of effect, the "
        "points would rise to the right. Points to the right near 0 % attend to no effect; "
        f"points far from 0 % at the left act {TIERS[tier]} without attending. Dashed: the size "
        f"from which an effect counts as mattering. Named: the heads with the highest "
        f"{SHORT[measure]} and those with the largest effect {TIERS[tier]}."
        + (f" Without a finite value, not drawn: {counted(n_left_out, 'head')}." * bool(n_left_out))
    )


def tiers(largest: pd.DataFrame) -> str:
    """For the heads with the largest effects: what each drop from tier to tier means."""
    measured = measured_tiers(largest)
    drops = []
    if "everywhere" in measured:
        drops.append(
            "From everywhere to the query, the drop is what the head does at other positions."
        )
    if "edge" in measured:
        drops.append(
            "From the query to the edge, the drop is what it reads from other sources. A head "
            "whose attention explains its effect keeps it down to the edge."
        )
    missing = [name for tier, name in TIERS.items() if tier not in measured]
    if missing:
        drops.append(f"Not measured: the effect {listed(missing)}.")
    return " ".join(
        [
            f"The {counted(len(largest), 'head')} with the largest effect at any tier, with 95 % "
            "intervals.",
            *drops,
        ]
    )


def league(table: pd.DataFrame) -> str:
    """For the rank correlations of measures with effects."""
    return (
        f"How well each measure ranks the effects of {table['n_heads'].max():.0f} heads: "
        "Spearman's ρ with 95 % intervals. 1: the same order as the effects; 0: no relation. "
        "Measures that know the metric are held to signed effects, the others to their size."
    )


def captured(curves: pd.DataFrame) -> str:
    """For the shares captured by the leading heads of each measure."""
    k = f"{curves['k'].max():.0f}"
    return (
        "What is lost on held-out items when the heads that lead by a measure are removed "
        f"together, 1 to {k} of them, as a share of what is lost with as many of the most "
        "effective heads of other items, with 95 % intervals. Drawn: raw attention, and of each "
        "league the two measures that capture most. Grey: random heads of the same layers, the "
        "middle 95 % of draws. A share below 0: these heads work against the behaviour."
    )


def behaviour(table: pd.DataFrame) -> str:
    """For the contrast of each template."""
    return (
        f"The behaviour itself, in {counted(len(table), 'template')}: the contrast between a "
        "prompt and its counterfactual, with 95 % intervals. Heads are ranked on templates "
        "that pass the gate only."
    )


def verdicts(n_shown: int, n_heads: int, measure: str | None, tier: str) -> str:
    """For the table of heads."""
    p = f"p: two-sided, for the effect {TIERS[tier]}, adjusted over {counted(n_heads, 'head')}."
    if measure is None:
        return (
            f"The {counted(n_shown, 'head')} with the largest effect at the query, largest first, "
            f"with 95 % intervals in brackets; effects are shares of the gap. {p}"
        )
    return (
        f"The {counted(n_shown, 'head')} that stand highest by {SHORT[measure]} or by the size of "
        "their effect at the query, largest effect first, with 95 % intervals in brackets; effects "
        "are shares of the gap. Raw attention: the probability that the query gives to the source; "
        f"sink: what it gives to the sink. {p}"
    )


def _hatched(values: pd.Series, where: str = "") -> str:
    n_missing = len(values) - len(finite(values))
    return f" Hatched{where}: {counted(n_missing, 'cell')} without a finite value." * bool(
        n_missing
    )
