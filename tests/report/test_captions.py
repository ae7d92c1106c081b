"""Captions, from tables small enough to work out by hand."""

import pandas as pd
import pytest

from interp.report import captions

from .by_hand import CONSISTENT, FOUR, IDLE

LEAD = "The 4 heads with the largest effect at any tier, with 95 % intervals."
POSITIONS = "From everywhere to the query, the drop is what the head does at other positions."
SOURCES = (
    "From the query to the edge, the drop is what it reads from other sources. A head whose "
    "attention explains its effect keeps it down to the edge."
)


def test_the_heatmap_caption_gives_clip_and_missing_cells():
    table = pd.DataFrame(
        {
            "label": [f"L0H{head}" for head in range(5)],
            "cas": [0.0, 0.1, -0.3, float("nan"), float("inf")],
            "effect_query": [0.0, 0.01, 0.02, 0.0, float("nan")],
        }
    )
    thresholds = {"attends": 0.05, "matters": 0.05}
    caption = captions.heatmaps(table, "cas", thresholds=thresholds, pair=None)
    # 99th percentile of 0, 0.1, 0.3: 98 % of the way from 0.1 to 0.3
    assert "±0.30 and ±5.0 %; the largest magnitudes are 0.30 and 2 %." in caption
    assert caption.endswith(
        "Hatched on the left: 2 cells without a finite value. "
        "Hatched on the right: 1 cell without a finite value."
    )


def test_without_a_source_the_heatmap_caption_is_about_the_effect_alone():
    table = pd.DataFrame({"effect_query": [0.0, 0.02, float("nan")]})
    thresholds = {"attends": 0.05, "matters": 0.05}
    assert captions.heatmaps(table, None, thresholds=thresholds, pair=None) == (
        "Effect at the query of 3 heads. Colours are centred on 0 and clipped at the 99th "
        "percentile of magnitude, or at the size that counts where that is more: ±5.0 %; the "
        "largest magnitude is 2 %. Positive: the head supports the behaviour; negative: it works "
        "against it. A dot: significant, adjusted over all heads, and of a size that counts. "
        "Hatched: 1 cell without a finite value."
    )


@pytest.mark.parametrize(
    ("missing", "rest"),
    [
        ([], f"{POSITIONS} {SOURCES}"),
        (["everywhere"], f"{SOURCES} Not measured: the effect everywhere."),
        (["edge"], f"{POSITIONS} Not measured: the effect on the edge."),
        (["everywhere", "edge"], "Not measured: the effect everywhere and on the edge."),
    ],
)
def test_the_caption_of_the_tiers_explains_those_that_were_measured(missing, rest):
    table = FOUR.assign(**{f"effect_{tier}": float("nan") for tier in missing})
    assert captions.tiers(table) == f"{LEAD} {rest}"


def test_the_caption_of_the_pair_names_the_measure_and_the_tiers():
    pair = FOUR[FOUR["label"].isin(["L2H0", "L2H8"])].assign(effect_everywhere=float("nan"))
    start = (
        f"Two heads: L2H0 ({IDLE}) and L2H8 ({CONSISTENT}), with 95 % intervals where there are "
        "any. Left, what attention says: the probability that the query gives to the source"
    )
    end = (
        ". Right, what exchanging the head for its counterfactual self takes away, as a share of "
        "the behavioural gap: at the query only and on the edge from query to source only. "
        "Positive: the head supports the behaviour; negative: it works against it."
    )
    assert captions.telling_pair(pair, "raw") == start + end
    margin = ", and how far it exceeds that given to the distractor (margin)"
    assert captions.telling_pair(pair, "margin") == start + margin + end


def test_the_caption_of_the_table_says_by_what_the_heads_were_chosen():
    p = "p: two-sided, for the effect at the query, adjusted over 72 heads."
    assert captions.verdicts(20, 72, None, "query") == (
        "The 20 heads with the largest effect at the query, largest first, with 95 % intervals in "
        f"brackets; effects are shares of the gap. {p}"
    )
    assert captions.verdicts(20, 72, "margin", "query") == (
        "The 20 heads that stand highest by margin or by the size of their effect at the query, "
        "largest effect first, with 95 % intervals in brackets; effects are shares of the gap. "
        "Raw attention: the probability that the query gives to the source; sink: what it gives "
        f"to the sink. {p}"
    )
