"""The figures that reports/README.md quotes are those of the committed tables."""

import re
from pathlib import Path

import pandas as pd
import pytest

from interp.contrast import Verdict, attending, mattering
from interp.report.spelling import percent
from interp.store import Run

REPORTS = Path(__file__).parents[1] / "reports"
TASKS = ("agreement", "coreference", "long_range")


@pytest.fixture(scope="module")
def runs():
    return {task: Run.load(REPORTS / "smollm2-135m" / task) for task in TASKS}


def heads(run):
    return run.tables["verdicts"].set_index("label")


def rho(run, measure, tier):
    row = run.tables["league"].set_index(["measure", "tier"]).loc[(measure, tier)]
    return f"{row['spearman']:.2f} ({row['spearman_low']:.2f} to {row['spearman_high']:.2f})"


def count(run, verdict):
    return int((run.tables["verdicts"]["verdict"] == verdict).sum())


def sentences(runs):
    """Every statement with a figure in it, made from the tables."""
    agreement, coreference, long_range = (heads(runs[task]) for task in TASKS)
    subject, second, decoy, other = (agreement.loc[x] for x in ("L26H0", "L27H8", "L27H0", "L25H4"))
    yield (
        f"L26H0 (CAS {subject['cas']:.2f}) and L27H8 ({second['cas']:.2f}) follow the subject, and "
        f"over that edge come {percent(subject['effect_edge'])} and "
        f"{percent(second['effect_edge'])} of the behaviour."
    )
    yield (
        f"L27H0 looks as good (raw attention {decoy['raw']:.2f}, CAS {decoy['cas']:.2f}), and "
        f"without it goes {percent(decoy['effect_query'])}."
    )
    yield (
        f"L25H4 puts {other['raw']:.2f} of its attention on the subject, and without it goes "
        f"{percent(other['effect_query'])}."
    )
    leader, looker = coreference.loc["L25H1"], coreference.loc["L24H4"]
    yield (
        f"L25H1 has the largest effect, {percent(leader['effect_query'])} at the query and "
        f"{percent(leader['effect_edge'])} over the edge, with a CAS of {leader['cas']:.2f}"
    )
    yield (
        f"The most selective head, L24H4 (CAS {looker['cas']:.2f}), has an effect of "
        f"{percent(looker['effect_query'])} ({percent(looker['effect_query_low'])} to "
        f"{percent(looker['effect_query_high'])}), not significant among so many heads."
    )
    induction, rival = long_range.loc["L18H6"], long_range.loc["L24H4"]
    score = runs["long_range"].tables["battery"].set_index("label").loc["L18H6", "induction"]
    yield (
        f"L18H6, the first induction head of the battery ({score:.2f}), is also the most selective "
        f"here (CAS {induction['cas']:.2f}) and the one that matters most, with "
        f"{percent(induction['effect_edge'])} over the edge."
    )
    yield f"L24H4 works against it, with {percent(rival['effect_query'])} at the query."
    for task in TASKS:
        run = runs[task]
        gap = run.settings["gap"]
        yield (
            f"{task}: gap {gap:.2f} logits; {count(run, Verdict.CONSISTENT)} heads are "
            f"attention-consistent, {count(run, Verdict.WRONG_EDGE)} matter over another edge, "
            f"{count(run, Verdict.IDLE)} attend but are idle, {count(run, Verdict.SILENT)} are "
            f"silent but causal, {count(run, Verdict.NEGATIVE)} negative, "
            f"{count(run, Verdict.INCONCLUSIVE)} inconclusive; rank agreement of CAS with the "
            f"effect on the edge {rho(run, 'cas', 'edge')}, of raw attention "
            f"{rho(run, 'raw', 'edge')}."
        )


def results():
    text = (REPORTS / "README.md").read_text()
    found = re.search(r"<!-- results -->(.*)<!-- end of results -->", text, re.DOTALL)
    return " ".join(found[1].replace("*", "").split())


def test_each_statement_is_that_of_the_tables(runs):
    text = results()
    for sentence in sentences(runs):
        assert sentence in text, sentence


def test_no_figure_stands_there_without_a_table(runs):
    text = results()
    for sentence in sentences(runs):
        text = text.replace(sentence, "")
    text = re.sub(r"L\d+H\d+|SmolLM2-135M", "", text)
    assert re.findall(r"\d+", text) == []


def of_standard():
    """Of each task on more pairs, one statement."""
    for task in TASKS:
        run = Run.load(REPORTS / "smollm2-135m-standard" / task)
        verdicts, captured = run.tables["verdicts"], run.tables["captured"]
        at_ten = captured[(captured["tier"] == "edge") & (captured["k"] == 10)]
        share = at_ten.set_index("measure")["share"]
        yield (
            f"{task}: of the {len(attending(verdicts))} heads that attend, "
            f"{count(run, Verdict.CONSISTENT)} are attention-consistent and "
            f"{count(run, Verdict.IDLE)} idle; of the {len(mattering(verdicts))} that matter, "
            f"attention misses {count(run, Verdict.SILENT)}. Ten heads by CAS remove "
            f"{percent(share['cas'])} of what the ten most effective remove over the edge, ten by "
            f"raw attention {percent(share['raw'])}."
        )
    far = Run.load(REPORTS / "smollm2-135m-standard" / "long_range-repeat-512-fixed_source")
    verdicts = far.tables["verdicts"]
    yield (
        f"long_range-repeat-512-fixed_source, on {far.settings['n_pairs']} pairs: of the "
        f"{len(attending(verdicts))} heads that attend, {count(far, Verdict.CONSISTENT)} are "
        f"attention-consistent and {count(far, Verdict.IDLE)} idle; of the "
        f"{len(mattering(verdicts))} that matter, attention misses {count(far, Verdict.SILENT)}."
    )


def test_each_statement_on_more_pairs_is_that_of_the_tables():
    text = (REPORTS / "README.md").read_text()
    found = re.search(r"<!-- standard -->(.*)<!-- end of standard -->", text, re.DOTALL)
    told = " ".join(found[1].split())
    for sentence in of_standard():
        assert sentence in told, sentence
        told = told.replace(sentence, "")
    assert re.findall(r"\d+", told) == []


def of_encoder():
    """Of each task of MiniLM, one statement."""
    for task in TASKS:
        run = Run.load(REPORTS / "minilm-l6-standard" / task)
        passes = run.tables["behaviour"]["passes"]
        if not passes.any():
            yield f"{task}: 0 of {len(passes)} templates pass the gate."
            continue
        share, low, high = map(percent, run.settings["all_heads"])
        verdicts, league = run.tables["verdicts"], run.tables["league"]
        ranks = league[league["measure"] == "raw"].set_index("tier")["spearman"]
        attend = len(attending(verdicts))
        yield (
            f"{task}: of a gap of {run.settings['gap']:.2f}, all heads together move {share} "
            f"({low} to {high}). {len(mattering(verdicts))} heads matter, and {attend} "
            f"{'attends' if attend == 1 else 'attend'}; raw attention ranks the effects with "
            f"{ranks['everywhere']:.2f} everywhere and {ranks['edge']:.2f} over the edge."
        )


def test_each_statement_on_the_encoder_is_that_of_the_tables():
    text = (REPORTS / "README.md").read_text()
    found = re.search(r"<!-- encoder -->(.*)<!-- end of encoder -->", text, re.DOTALL)
    told = " ".join(found[1].split())
    for sentence in of_encoder():
        assert sentence in told, sentence
        told = told.replace(sentence, "")
    assert re.findall(r"\d+", told) == []


def test_what_was_consistent_on_one_half_held_on_the_other():
    for task in TASKS:
        verdicts = Run.load(REPORTS / "smollm2-135m-standard" / task).tables["verdicts"]
        found = verdicts[verdicts["verdict_discovery"] == Verdict.CONSISTENT]
        assert (found["verdict_confirmation"] == Verdict.CONSISTENT).all()


def test_committed_pages_are_small_and_per_item_tables_are_left_out():
    for page in REPORTS.glob("**/report.html"):
        assert page.stat().st_size < 2_000_000
    assert "*.parquet" in (REPORTS.parent / ".gitignore").read_text()


def test_the_summary_counts_what_the_verdicts_say(runs):
    summary = pd.read_csv(REPORTS / "smollm2-135m" / "summary.csv").set_index("task")
    for task, run in runs.items():
        table = run.tables["verdicts"]
        assert summary.loc[task, "attend"] == table["attends"].sum()
        matters = table[["matters_everywhere", "matters_query", "matters_edge"]].any(axis=1)
        assert summary.loc[task, "matter"] == matters.sum()
        assert summary.loc[task, "attends_but_idle"] == count(run, Verdict.IDLE)


def test_what_is_said_of_heads_in_words_is_their_verdict(runs):
    assert heads(runs["agreement"]).loc["L27H0", "verdict"] == Verdict.IDLE
    coreference = heads(runs["coreference"])["verdict"]
    assert (coreference != Verdict.CONSISTENT).all()
    assert 2 * (coreference == Verdict.INCONCLUSIVE).sum() == (coreference != Verdict.NEITHER).sum()


def test_the_best_head_beats_what_flipped_signs_give(runs):
    """The CAS of the best head, on pairs on which it was not chosen."""
    for run in runs.values():
        controls = run.tables["controls"]
        cas = controls[controls["measure"] == "cas"].set_index("control")["value"]
        assert 0 < cas["label swap"] <= cas["label swap, best head"] < cas["measured"]


def test_what_is_said_of_the_two_measures_is_so(runs):
    """Raw above CAS on every task; their intervals overlap except in coreference."""
    overlap = {}
    for task, run in runs.items():
        league = run.tables["league"].set_index(["measure", "tier"])
        raw, cas = league.loc[("raw", "edge")], league.loc[("cas", "edge")]
        assert raw["spearman"] > cas["spearman"]
        overlap[task] = bool(raw["spearman_low"] <= cas["spearman_high"])
    assert [task for task, touches in overlap.items() if touches] == ["agreement", "long_range"]
