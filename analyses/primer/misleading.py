"""Claim 7: attention weights are a limited and often misleading guide.

Read off the committed run: for every head, attention to the source beside what exchanging the head
shows, for the whole head (a node) and for what it takes from the source alone (an edge). Attention
is a claim about the edge; held against the node, it is blamed for what it never said.
"""

from collections.abc import Iterator

import pandas as pd

from analyses.primer.claim import Claim, Finding, Setting, Tables, committed_runs
from analyses.primer.rule import Ask, Estimate, Rule
from interp.contrast import Verdict
from interp.report import plots
from interp.report.canvas import COLOURS
from interp.report.page import Plate
from interp.report.spelling import counted, listed, number, whole_percent
from interp.report.tidy import TIERS
from interp.tasks import NAMES

RULE = Rule(
    (
        Ask(
            name="edge_agreement",
            what="rank agreement of raw attention with the size of the effect on the edge it is a "
            "claim about, best of the three phenomena",
            at_most=0.9,
        ),
        Ask(
            name="attend_for_nothing",
            what="of the heads that attend to the source, the share that is not shown to matter on "
            "the edge",
            at_least=0.25,
        ),
        Ask(
            name="matter_unseen",
            what="of the heads that matter at the query, the share that does not attend to the "
            "source",
            at_least=0.25,
        ),
        Ask(
            name="no_better_on_edge",
            what="rank agreement on the edge less that with the whole head everywhere, mean of the "
            "three: how much of the failure is a comparison of two levels",
            at_most=0.1,
            is_core=False,
        ),
    )
)


def measure(setting: Setting) -> Finding:
    """The three phenomena's verdicts and leagues, as they were committed.

    Raises:
        FileNotFoundError: the run is not there.
    """
    with setting.progress("claim 7: misleading", 1) as advance:
        runs = committed_runs()
        advance(1)
    heads = pd.concat(
        [run.tables["verdicts"].assign(task=task) for task, run in runs.items()],
        ignore_index=True,
    )
    leagues = pd.concat(
        [
            run.tables["league"].query("measure == 'raw'").assign(task=task)
            for task, run in runs.items()
        ],
        ignore_index=True,
    )
    return found_in(heads, leagues)


def found_in(heads: pd.DataFrame, leagues: pd.DataFrame) -> Finding:
    """The finding, from the heads' verdicts and the agreement of raw attention at each tier.

    Args:
        heads: the table of verdicts of every task, with a column `task`.
        leagues: raw attention's rows of every league, with a column `task`.
    """
    attend, matter = heads[heads["attends"]], heads[heads["matters_query"]]
    edge = leagues[leagues["tier"] == "edge"].set_index("task")
    best = edge.loc[edge["spearman"].idxmax()]
    # the widest tier that was measured: long contexts have none everywhere
    widest = leagues.assign(width=leagues["tier"].map(list(TIERS).index)).sort_values("width")
    gains = edge["spearman"] - widest.groupby("task")["spearman"].first()
    evidence = {
        "edge_agreement": Estimate(best["spearman"], best["spearman_low"], best["spearman_high"]),
        "attend_for_nothing": Estimate.proportion(
            int((~attend["matters_edge"]).sum()), len(attend)
        ),
        "matter_unseen": Estimate.proportion(int((~matter["attends"]).sum()), len(matter)),
        "no_better_on_edge": Estimate.mean(gains.to_numpy()),
    }
    return Finding(
        evidence=evidence,
        sentences=_sentences(heads, leagues, gains),
        tables={
            "heads": heads[
                ["task", "layer", "head", "label", "raw", "attends", "verdict"]
                + [f"effect_{tier}" for tier in TIERS]
            ],
            "agreement": leagues[
                ["task", "tier", "spearman", "spearman_low", "spearman_high", "ceiling"]
            ],
        },
    )


def _sentences(heads: pd.DataFrame, leagues: pd.DataFrame, gains: "pd.Series[float]") -> list[str]:
    attend, matter = heads[heads["attends"]], heads[heads["matters_query"]]
    idle = attend[attend["verdict"] == Verdict.IDLE]
    silent = matter[~matter["attends"]]
    leading = silent.loc[silent["effect_query"].abs().idxmax()]
    open_ = attend[attend["verdict"] == Verdict.INCONCLUSIVE]
    agreement = leagues.set_index(["task", "tier"])["spearman"]
    edges = listed(
        [f"{number(agreement[task, 'edge'])} ({task.replace('_', ' ')})" for task in NAMES]
    )
    return [
        f"Over the three phenomena {counted(len(attend), 'head')} of SmolLM2 attend to the source, "
        f"and of these {whole_percent(attend['matters_edge'].mean())} are shown to matter over the "
        f"very edge that attention is a claim about; {counted(len(idle), 'head')} are shown to do "
        f"nothing at all, and {len(open_)} are undecided. Of the {len(matter)} that matter at the "
        f"query, {len(silent)} do not attend to the source; the largest, {leading['label']} in "
        f"{leading['task'].replace('_', ' ')}, carries {whole_percent(leading['effect_query'])} of "
        "the gap. Part of the bad name is a comparison of two levels: a weight speaks of an edge, "
        "and removing a head removes a node. Held against the edge, raw attention ranks the heads "
        f"with ρ = {edges}, {number(gains.mean())} better on average than against the whole head. "
        "What is left is no guide to a single head, and a fair one to where to begin.",
    ]


def plates(tables: Tables) -> Iterator[Plate]:
    """Attention against the node and the edge, and how the two rank."""
    heads = tables["heads"]
    largest = heads["effect_query"].abs().nlargest(6).index
    looks_alone = heads.loc[heads["verdict"] == Verdict.IDLE, "raw"].nlargest(1).index
    long = pd.concat(
        [
            heads.assign(
                effect=heads[f"effect_{tier}"],
                level=name,
                is_named=heads.index.isin([*largest, *looks_alone]),
            )
            for tier, name in (
                ("query", "the head at the query (node)"),
                ("edge", "query → source (edge)"),
            )
        ]
    )
    yield Plate(
        "node_and_edge",
        "Attention against the effect of the head and of its edge",
        plots.points(
            long.assign(task=long["task"].str.replace("_", " ")),
            x="raw",
            y="effect",
            hue="task",
            panel="level",
            labels=("raw attention to the source", "effect (share of the gap)"),
            palette=dict(zip((task.replace("_", " ") for task in NAMES), COLOURS, strict=False)),
        ),
        "Every head of SmolLM2, three phenomena. The same attention, left against what exchanging "
        "the head's output at the query shows, right against what it takes from the source alone.",
    )
    agreement = tables["agreement"]
    rows = agreement.assign(
        row=agreement["task"].str.replace("_", " "),
        value=agreement["spearman"],
        low=agreement["spearman_low"],
        high=agreement["spearman_high"],
        tier=agreement["tier"].map(TIERS),
    )
    yield Plate(
        "agreement",
        "Rank agreement of raw attention with effects",
        plots.intervals(rows, hue="tier", label="Spearman's ρ with the size of the effect"),
        "Raw attention to the source against the size of the effect over all heads, tier by tier; "
        "95 % intervals.",
    )


CLAIM = Claim(
    number=7,
    name="misleading",
    says="Attention weights are a limited and often misleading guide.",
    how="Attention to the source beside the effect of the whole head (a node) and of what it takes "
    "from the source (an edge), from the committed run of SmolLM2 on three phenomena.",
    rule=RULE,
    measure=measure,
    plates=plates,
)
