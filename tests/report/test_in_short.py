"""The paragraph on a phenomenon, whole, from tables small enough to count by hand."""

import pandas as pd

from interp.report import in_short
from interp.store import Run

from .by_hand import CONSISTENT, FOUR, IDLE, LEAGUE, QUIET, SILENT


def test_heads_that_attend_are_counted_by_what_becomes_of_them():
    assert in_short.of_attending(FOUR) == (
        "Of 4 heads, 2 attend to the source: 1 does what its attention says and 1 is idle."
    )
    assert in_short.of_attending(QUIET) == "Of 2 heads, 0 attend to the source."


def test_what_attention_misses_is_named_with_its_kinds():
    assert in_short.missed(FOUR.assign(subtype=["", "relay", "", ""])) == (
        "2 heads matter; attention misses 1 of them, which does not attend to the source "
        "(1 relay): L1H0."
    )
    as_read_from_a_file = FOUR.assign(subtype=float("nan"))
    assert "which do" in in_short.missed(as_read_from_a_file)
    assert in_short.missed(FOUR[FOUR["verdict"] != SILENT]) == (
        "1 head matters, and attention misses none of them."
    )


def test_node_and_edge_stand_side_by_side():
    league = pd.concat([LEAGUE, LEAGUE.assign(tier="query", spearman=0.57)])
    assert in_short.node_and_edge(league) == [
        "Over all heads, raw attention and the effect have a rank correlation of 0.57 at the query "
        "and 0.60 on the edge."
    ]
    assert in_short.node_and_edge(LEAGUE) == in_short.node_and_edge(pd.DataFrame()) == []


def test_what_held_on_the_other_half_is_said_head_by_head():
    table = FOUR.assign(
        verdict_discovery=[CONSISTENT, SILENT, IDLE, CONSISTENT],
        verdict_confirmation=["neither", SILENT, IDLE, CONSISTENT],
    )
    table = table.assign(held=table["verdict_discovery"] == table["verdict_confirmation"])
    assert in_short.held(table) == [
        "Of 2 heads attention-consistent on one half of the wordings and words, 1 is so on the "
        "other; not L0H2 (neither there).",
        "Of 1 head silent but causal on one half of the wordings and words, 1 is so on the other.",
        "Of 1 head idle on one half of the wordings and words, 1 is so on the other.",
    ]
    assert in_short.held(FOUR) == []


def test_without_heads_nothing_is_said():
    assert in_short.in_short(Run(settings={}, tables={})) == []
