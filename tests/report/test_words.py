"""Sentences, whole, from tables small enough to work out by hand."""

import pandas as pd
import pytest

from interp.report import words
from interp.report.methods import SCOPE_OF_CLAIMS, methods
from interp.report.spelling import (
    counted,
    kind,
    listed,
    number,
    of_gap,
    p_value,
    percent,
    scientific,
    share_interval,
    unit,
    visible,
)
from interp.store import Run

from .by_hand import CONSISTENT, FOUR, IDLE, LEAGUE, QUIET, SILENT, WRONG_EDGE, heads
from .example import behaviour, example_run, failing_run


def test_heads_that_attend_are_counted_and_the_most_selective_named():
    assert words.which_attend(FOUR, "cas") == (
        "Of 4 heads, 2 attend to the source; the most selective is L2H0 "
        "(CAS 0.57, 95 % interval 0.55 to 0.59), then L2H8 (0.48)."
    )


def test_one_head_that_attends_is_not_followed_by_others():
    assert words.which_attend(FOUR[FOUR["label"] != "L2H0"], "cas") == (
        "Of 3 heads, one attends to the source: L2H8 (CAS 0.48, 95 % interval 0.46 to 0.50)."
    )


def test_where_no_head_attends_the_most_selective_is_not_said_to():
    assert words.which_attend(QUIET, "cas") == (
        "No head of 2 attends to the source at these thresholds; "
        "the most selective is L0H0 (CAS 0.04, 95 % interval 0.02 to 0.06)."
    )


def test_heads_that_matter_are_ranked_by_size_and_keep_their_sign():
    against = FOUR.assign(effect_query=[0.0, -0.08, 0.0, 0.45])
    assert words.which_matter(against) == (
        "Of 4 heads, 2 matter when removed; of these L2H8 has the largest effect at the query, "
        "45 % of the gap (95 % interval 43 % to 47 %), then L1H0 (−8 %)."
    )


def test_one_head_that_matters():
    assert words.which_matter(FOUR[FOUR["label"] != "L1H0"]) == (
        "Of 3 heads, one matters when removed: L2H8, whose effect at the query is "
        "45 % of the gap (95 % interval 43 % to 47 %)."
    )


def test_where_no_head_matters_the_largest_effect_is_only_reported():
    assert words.which_matter(QUIET) == (
        "No head of 2 matters when removed, at these thresholds; the largest effect at the query "
        "is that of L0H0, 3 % of the gap (95 % interval 1 % to 5 %)."
    )


def test_disagreement_is_told_in_both_directions_with_the_rank_correlation():
    assert words.where_they_disagree(FOUR, LEAGUE, "cas") == (
        "Attention and effect disagree for 2 heads: "
        "L2H0 attends and is idle (CAS 0.57, 1 % of the gap everywhere) and "
        "L1H0 matters without attending (CAS 0.01, 18 % of the gap everywhere); over all 4 heads, "
        "CAS and the effect on the edge have a rank correlation of 0.72 "
        "(95 % interval 0.61 to 0.80)."
    )


def test_of_several_heads_that_disagree_the_most_striking_is_named():
    table = heads(
        ("L0H0", IDLE, 0.3, 0.2, 0.0, 0.0, 0.0),
        ("L0H1", IDLE, 0.4, 0.3, 0.0, 0.012, 0.0),
        ("L1H1", WRONG_EDGE, 0.4, 0.3, 0.1, 0.2, 0.0),
    )
    assert words.where_they_disagree(table, LEAGUE, "cas").startswith(
        "Attention and effect disagree for 3 heads: 2 attend and are idle, L0H1 first "
        "(CAS 0.30, 1 % of the gap at the query) and L1H1 attends and matters over another edge "
        "(CAS 0.30, 20 % of the gap at the query); "
    )


def test_agreement_everywhere_is_said_too():
    table = FOUR[FOUR["verdict"] == CONSISTENT]
    assert words.where_they_disagree(table, LEAGUE, "cas").startswith(
        "Attention and effect disagree for no head at these thresholds; "
    )


def test_each_head_that_disagrees_has_its_sentence():
    assert words.disagreements(FOUR, "cas") == {
        "They attend, and are idle": [
            "L2H0 puts 84 % of its attention on the source (CAS 0.57), and is idle: its "
            "effect is 1 % of the gap everywhere, less than 1 % at the query and less than 1 % on "
            "the edge."
        ],
        "They matter without attending": [
            "L1H0 puts 3 % of its attention on the source (CAS 0.01) and matters all the same: its "
            "effect is 18 % of the gap everywhere, −1 % at the query and less than 1 % on the edge."
        ],
    }


def test_a_tier_that_was_not_measured_is_not_spoken_of():
    sentences = words.disagreements(FOUR.assign(effect_everywhere=float("nan")), "cas")
    assert sentences["They matter without attending"] == [
        "L1H0 puts 3 % of its attention on the source (CAS 0.01) and matters all the same: its "
        "effect is −1 % of the gap at the query and less than 1 % on the edge."
    ]


def test_more_than_five_heads_of_a_kind_are_counted():
    row = (IDLE, 0.3, 0.2, 0.0, 0.0, 0.0)
    table = heads(*((f"L0H{head}", *row) for head in range(6)))
    *named, rest = words.disagreements(table, "cas")["They attend, and are idle"]
    assert [sentence.split()[0] for sentence in named] == ["L0H0", "L0H1", "L0H2", "L0H3", "L0H4"]
    assert rest == "1 more head of this kind: see the tables."


def test_the_margin_stands_where_no_counterfactual_moves_the_source():
    table = FOUR.rename(columns=lambda name: name.replace("cas", "margin"))
    league = LEAGUE.replace({"cas": "margin"})
    assert words.which_attend(table, "margin") == (
        "Of 4 heads, 2 attend to the source; the most selective is L2H0 "
        "(margin 0.57, 95 % interval 0.55 to 0.59), then L2H8 (0.48)."
    )
    assert words.where_they_disagree(table, league, "margin") == (
        "Attention and effect disagree for 2 heads: "
        "L2H0 attends and is idle (margin 0.57, 1 % of the gap everywhere) and "
        "L1H0 matters without attending (margin 0.01, 18 % of the gap everywhere); over all 4 "
        "heads, margin and the effect on the edge have a rank correlation of 0.72 "
        "(95 % interval 0.61 to 0.80)."
    )


def test_raw_attention_is_not_called_selective_nor_said_twice():
    table = FOUR.assign(raw_low=FOUR["raw"] - 0.02, raw_high=FOUR["raw"] + 0.02)
    assert words.which_attend(table, "raw") == (
        "Of 4 heads, 2 attend to the source; the most attentive is L2H0 "
        "(raw attention 0.84, 95 % interval 0.82 to 0.86), then L2H8 (0.79)."
    )
    assert words.disagreements(table, "raw")["They attend, and are idle"] == [
        "L2H0 puts 84 % of its attention on the source, and is idle: its effect is 1 % "
        "of the gap everywhere, less than 1 % at the query and less than 1 % on the edge."
    ]
    assert words.where_they_disagree(table, LEAGUE, "raw").endswith(
        "over all 4 heads, raw attention and the effect on the edge have a rank correlation of "
        "0.60 (95 % interval 0.50 to 0.70)."
    )


def test_without_an_edge_the_rank_correlation_is_that_at_the_query():
    table = FOUR[FOUR["verdict"] == SILENT].assign(effect_edge=float("nan"))
    league = pd.concat([LEAGUE, LEAGUE.assign(tier="query", spearman=0.57)])
    assert words.where_they_disagree(table, league, "cas") == (
        "Attention and effect disagree for 1 head: L1H0 matters without attending "
        "(CAS 0.01, 18 % of the gap everywhere); over all 4 heads, CAS and the effect at the "
        "query have a rank correlation of 0.57 (95 % interval 0.61 to 0.80)."
    )


@pytest.mark.parametrize("league", [pd.DataFrame(), LEAGUE[LEAGUE["measure"] == "raw"]])
def test_without_its_row_in_the_league_no_correlation_is_spoken_of(league):
    assert words.where_they_disagree(FOUR[FOUR["verdict"] == CONSISTENT], league, "cas") == (
        "Attention and effect disagree for no head at these thresholds."
    )


def test_without_a_source_the_answer_is_about_effects_alone():
    names = ("raw", "margin", "cas")
    missing = dict.fromkeys(
        (*names, *(f"{name}_low" for name in names), "effect_edge"), float("nan")
    )
    run = Run(settings={}, tables={"verdicts": FOUR.assign(**missing), "league": pd.DataFrame()})
    assert words.answer(run) == [
        "The pairs name no source, so attention is not scored.",
        "Of 4 heads, 2 matter when removed; of these L2H8 has the largest effect at the query, "
        "45 % of the gap (95 % interval 43 % to 47 %), then L1H0 (−1 %).",
    ]


def test_heads_that_attend_and_are_undecided_are_counted():
    table = FOUR.assign(verdict=FOUR["verdict"].replace({IDLE: "inconclusive"}))
    assert words.where_they_disagree(table, LEAGUE, "cas").startswith(
        "Attention and effect disagree for 1 head: L1H0 matters without attending "
        "(CAS 0.01, 18 % of the gap everywhere); for 1 head that attends nothing is shown; over"
    )


def test_where_most_heads_are_undecided_that_is_said_first():
    table = heads(
        ("L0H0", "inconclusive", 0.3, 0.2, 0.0, 0.0, 0.0),
        ("L0H1", "inconclusive", 0.3, 0.2, 0.0, 0.0, 0.0),
        ("L0H2", CONSISTENT, 0.3, 0.2, 0.3, 0.3, 0.3),
        ("L0H3", "neither", 0.0, 0.0, 0.0, 0.0, 0.0),
    )
    assert words.mostly_undecided(table.assign(n_pairs_to_decide=[100, 300, 2, 2])) == [
        "Read what follows with care: of 3 heads that attend or may matter, 2 are undecided. "
        "About 200 pairs would decide half of those that pairs can decide."
    ]
    assert words.mostly_undecided(table)[0].endswith(
        "More pairs would not decide: the effects lie between nothing and what counts."
    )
    assert words.mostly_undecided(table.iloc[1:]) == []
    run = Run(settings={}, tables={"verdicts": table, "league": LEAGUE})
    assert words.answer(run)[0].startswith("Read what follows with care")


def test_where_heads_move_little_of_the_gap_that_is_said_first():
    table = heads(("L0H0", CONSISTENT, 0.3, 0.2, 0.3, 0.3, 0.3))
    few = Run(
        settings={"all_heads": [-0.02, -0.1, 0.06]}, tables={"verdicts": table, "league": LEAGUE}
    )
    assert words.answer(few)[0].startswith(
        "All heads exchanged at once move −2 % of the gap (95 % interval −10 % to 6 %). "
    )
    assert words.mostly_not_of_heads({"all_heads": [0.4, 0.2, 0.6]}) == []
    assert words.mostly_not_of_heads({}) == []


def test_a_metric_has_its_unit(run):
    settings = run.settings | {"metric": "representation_margin"}
    statement = methods(Run(settings=settings, tables=run.tables))
    assert statement["Gap"].startswith("3.42 in cosine, ")
    assert unit("my_own") == "my_own"


def test_how_a_head_comes_to_its_verdict_is_said():
    table = FOUR.assign(subtype=["", "relay", "writes nothing", ""])
    (sentence,) = words.disagreements(table, "cas")["They attend, and are idle"]
    assert "(CAS 0.57), and is idle (writes nothing): its effect is 1 %" in sentence
    as_read_from_a_file = table.assign(subtype=[None, float("nan"), float("nan"), None])
    (sentence,) = words.disagreements(as_read_from_a_file, "cas")["They attend, and are idle"]
    assert "(CAS 0.57), and is idle: its effect is 1 %" in sentence


def test_templates_that_fail_the_gate_say_why():
    assert words.gate(behaviour()) == [
        "2 of 3 templates pass the behaviour gate.",
        "behind_met: its mean contrast is below 0.5 logits.",
    ]
    assert words.answer(failing_run())[0] == (
        "None of the 3 templates passes the behaviour gate, so no heads are ranked."
    )
    assert words.gate(behaviour().tail(1))[0] == (
        "The template fails the behaviour gate, so no heads are ranked."
    )


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.45, "45 %"),
        (-0.08, "−8 %"),
        (0.004, "less than 1 %"),
        (-0.004, "less than 1 %"),
        (0.0, "less than 1 %"),
        (1.2, "120 %"),
        (float("nan"), "undefined"),
        (float("inf"), "undefined"),
    ],
)
def test_shares_are_whole_percentages(share, text):
    assert percent(share) == text


def test_small_words():
    assert of_gap(0.04) == "4 % of the gap"
    assert share_interval(-0.004, 0.014) == "95 % interval 0 % to 1 %"
    assert [number(-0.001), number(-0.25), number(float("inf"))] == ["0.00", "−0.25", "undefined"]
    assert [p_value(0.0), p_value(0.0312)] == ["< 0.001", "0.031"]
    assert [scientific(3.14e-6), scientific(0.0), scientific(12.0)] == [
        "3.1 × 10⁻⁶",
        "0",
        "1.2 × 10¹",
    ]
    assert [listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])] == [
        "a",
        "a and b",
        "a, b and c",
    ]
    assert [kind(name) for name in ("raw", "margin", "cas")] == ["raw", "margin", "CAS"]
    assert [counted(1, "head"), counted(5120, "head")] == ["1 head", "5,120 heads"]


def test_what_cannot_be_seen_is_spelt_out():
    assert visible("a\n\u200b\xa0\ud83d<b>é") == "a\\n\\u200b\\xa0\\ud83d<b>é"


def test_the_methods_statement_has_what_a_reader_needs(run):
    statement = methods(run)
    assert statement["Gap"].startswith("3.42 logits")
    assert statement["Noise floor"] == "2.4 × 10⁻⁶ logits"
    assert statement["Prefix"] == "<|endoftext|>"
    assert statement["Items"] == "128 pairs, 256 items (preset standard, seed 0)"
    assert statement["Tests"].startswith("72 heads at 3 tiers; ")
    assert statement["Check"] == (
        "L0H0, L14H3 and L29H8 (everywhere, query and edge) agree with the plain loop, one hooked "
        "forward pass a head, within 3.1 × 10⁻⁶ logits; the largest logit is 24.3"
    )
    assert statement["Model"].endswith("float32, weights 5f0c1a9e, as trained")
    assert "(max-T, sign flips by cluster, either way in turn)" in statement["Tests"]
    assert statement["Clusters"] == "40 × 38, crossed"
    assert statement["Halves"].startswith(
        "128 items to discover and 128 to confirm, which share no"
    )
    assert statement["Caution"].startswith("What is put in place of a head's output can bring")
    assert SCOPE_OF_CLAIMS == (
        "Head-level claims are relative to this prompt distribution, corruption and metric."
    )


def test_few_clusters_of_one_way_without_halves_are_stated(run):
    note = "intervals are unsupported below 16 clusters a side; here are 8."
    few = {"n_clusters": [8], "n_items_in_halves": [0, 0], "cautions": [note]}
    statement = methods(Run(settings=run.settings | few, tables=run.tables))
    assert statement["Clusters"] == (
        "8. Intervals are unsupported below 16 clusters a side; here are 8."
    )
    assert statement["Halves"].startswith("none: all heads are chosen and read on the same items")
    assert "(max-T, bootstrap-t)" in statement["Tests"]


def test_a_run_without_verdicts_states_no_sweep():
    assert "Check" not in methods(failing_run())
    assert "Check" in methods(example_run(6, 12))
