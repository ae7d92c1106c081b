"""Pages stand alone, show everything as text, and claim nothing that was not measured."""

import re
from base64 import b64decode
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest

from interp.report import captions, write_index, write_report
from interp.report.methods import SCOPE_OF_CLAIMS
from interp.report.tidy import telling_pair
from interp.report.words import answer
from interp.store import Run

from .example import example_run, failing_run, without, without_source

FIGURES = {
    "attention_against_effect",
    "behaviour",
    "captured",
    "heatmaps",
    "league",
    "telling_pair",
    "tiers",
}


class Page(HTMLParser):
    """What a browser would find: tags, addresses and text."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.pieces: list[str] = []
        self.is_text = True
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.is_text = tag not in {"script", "style"}
        self.addresses += [value for name, value in attributes if name in {"src", "href"}]

    def handle_endtag(self, tag):
        self.is_text = True
        if tag in {"td", "th"}:
            self.pieces.append(" ")

    def handle_data(self, data):
        if self.is_text:
            self.pieces.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.pieces).replace("\xa0", " ").split())


def test_the_page_loads_nothing(report):
    page = Page(report / "report.html")
    source = (report / "report.html").read_text(encoding="utf-8")
    inline = [address for address in page.addresses if address.startswith("data:image/png;base64,")]
    relative = {address for address in page.addresses if not address.startswith(("data:", "#"))}
    tables = {"behaviour.csv", "captured.csv", "datapackage.json", "league.csv", "verdicts.csv"}
    assert len(inline) == len(FIGURES)
    assert relative == tables | {f"figures/{name}.svg" for name in FIGURES}
    assert not {"link", "iframe", "base"} & set(page.tags)
    assert "default-src 'none'; img-src data:;" in source
    assert "url(" not in source
    assert "@import" not in source
    assert "://" not in source


def test_every_figure_links_its_data(report, run):
    source = (report / "report.html").read_text(encoding="utf-8")
    for caption in source.split("<figcaption>")[1:]:
        (table,) = re.findall(r'<a href="(\w+)\.csv">data</a>', caption.split("</figcaption>")[0])
        assert table in run.tables


def test_heads_in_tables_link_to_their_cards(report, run):
    page = Page(report / "report.html")
    links = {address[1:] for address in page.addresses if address.startswith("#")}
    assert len(links) >= 20
    assert links <= set(run.tables["verdicts"]["label"])


def test_figures_are_written_beside_the_page_and_stand_in_it(report):
    page = Page(report / "report.html")
    assert {path.stem for path in (report / "figures").glob("*.png")} == FIGURES
    assert {path.stem for path in (report / "figures").glob("*.svg")} == FIGURES
    inline = {
        b64decode(address.split(",")[1])
        for address in page.addresses
        if address.startswith("data:")
    }
    assert inline == {path.read_bytes() for path in (report / "figures").glob("*.png")}


def test_the_answer_comes_before_every_figure(report, run):
    page = Page(report / "report.html")
    sentences = answer(run)
    assert len(sentences) == 3
    places = [page.text.index(sentence) for sentence in sentences]
    assert places == sorted(places)
    assert places[-1] < page.text.index("Two heads")


def test_every_caption_stands_on_the_page(report, run):
    text = Page(report / "report.html").text
    verdicts, pair = run.tables["verdicts"], telling_pair(run.tables["verdicts"], "cas")
    for caption in (
        captions.telling_pair(pair, "cas"),
        captions.heatmaps(verdicts, "cas", thresholds=run.settings["thresholds"], pair=pair),
        captions.attention_against_effect(verdicts, "cas", "edge"),
        captions.league(run.tables["league"]),
        captions.captured(run.tables["captured"]),
        captions.behaviour(run.tables["behaviour"]),
    ):
        assert caption in text
    assert text.count("SVG") == Page(report / "report.html").tags.count("figcaption") == 7


def test_the_methods_stand_on_the_page(report):
    text = Page(report / "report.html").text
    assert SCOPE_OF_CLAIMS in text
    for fact in ("5f0c1a9e", "float32", "<|endoftext|>", "128 pairs", "3.42 logits", "72 heads"):
        assert fact in text
    assert "behind_met: its mean contrast is below 0.5 logits." in text


def test_the_page_is_small_even_for_large_models(report, tmp_path):
    assert (report / "report.html").stat().st_size < 1_000_000
    write_report(example_run(80, 16), tmp_path)
    assert (tmp_path / "report.html").stat().st_size < 2_000_000


def test_hostile_text_is_shown_and_makes_no_tag(run, report, tmp_path):
    hostile = "</script><b onload=x>&amp;<0x0A>$\n\u200b\xa0"
    shown = "</script><b onload=x>&amp;<0x0A>$\\n\\u200b\\xa0"
    half_an_emoji = "\ud83d"
    tables = dict(run.tables)
    verdicts = tables["verdicts"]
    first = telling_pair(verdicts, "cas")["label"].iloc[0]
    tables["verdicts"] = verdicts.replace({"label": {first: f"{first}{hostile}"}})
    for name in ("behaviour", "cells", "by_template"):
        tables[name] = tables[name].replace({"template_id": {"beside_knew": hostile}})
    settings = {**run.settings, "prefix": hostile + half_an_emoji, "model": hostile, "task": "<i>"}
    write_report(Run(settings=settings, tables=tables), tmp_path)
    page, plain = Page(tmp_path / "report.html"), Page(report / "report.html")
    assert shown in page.text
    assert f"{shown}\\ud83d" in page.text
    assert f"{first}{shown} " in page.text
    assert set(page.tags) == set(plain.tags)


def test_a_task_that_fails_its_gate_ranks_no_heads(failing_report):
    page = Page(failing_report / "report.html")
    assert "None of the 3 templates passes the behaviour gate, so no heads are ranked." in page.text
    assert SCOPE_OF_CLAIMS in page.text
    assert "Verdicts" not in page.text
    assert "verdicts.csv" not in page.addresses
    assert [path.name for path in (failing_report / "figures").glob("*.png")] == ["behaviour.png"]


def test_the_table_of_verdicts_has_the_twenty_that_stand_highest(report, run):
    verdicts = run.tables["verdicts"]
    text = Page(report / "report.html").text.split("verdicts.csv")[-1]
    best = [
        verdicts["cas"].rank(ascending=False),
        verdicts["effect_query"].abs().rank(ascending=False),
    ]
    places = np.minimum(*best)
    for label in verdicts.loc[places <= 10, "label"]:
        assert f"{label} " in text
    assert sum(f"{label} " in text for label in verdicts["label"]) == 20


def headings(page: Page) -> str:
    """The column headings of the table of heads, in one line."""
    return page.text.split("verdicts.csv. ")[1].split(" L")[0]


def test_scores_stand_beside_what_they_must_beat(tmp_path):
    write_report(example_run(12, 6), tmp_path)
    text = Page(tmp_path / "report.html").text
    assert "What a score must beat" in text
    assert "under even attention to all visible words; for CAS, " in text
    assert "each cluster of items; how often the source stands" in text
    assert "raw attention L1H0 0.71 0.05 – 0.20 0.50 0.22 0.25" in text
    assert "L1H0 0.60 0.11 0.15 0.00 – 0.01 0.02" in text


def test_the_leagues_stand_apart_and_what_knows_the_metric_is_not_called_attention(report):
    text = Page(report / "report.html").text
    sections = ["Pattern only", "Value-aware", "Metric-aware"]
    places = [text.index(f"{name} ") for name in sections]
    assert places == sorted(places)
    assert "no measures of attention" in text[places[-1] :]
    assert "attribution patching 92 [83, 101]" in text[places[-1] :]
    assert "attribution patching" not in text[places[0] : places[-1]]
    assert "CAS 78 [69, 87] 37 [29, 45] 0.72 [0.65, 0.79]" in text[places[0] : places[1]]
    assert "Left out: rollout: it is of a layer, not of a head." in text
    assert "which has other wordings and other words." in text


def test_counts_at_other_thresholds_stand_on_the_page(report):
    text = Page(report / "report.html").text
    assert "attend, no effect so large 0.05 2 9 14 5 3 0.05 10 9 3 2 6" in text


@pytest.mark.parametrize(
    ("missing", "definition", "columns"),
    [
        (["cas"], "Margin: attention to the source less", "raw attention margin sink"),
        (["cas", "margin"], "Raw attention: the probability", "raw attention sink"),
    ],
)
def test_where_the_source_does_not_move_another_measure_stands_everywhere(
    run, tmp_path, missing, definition, columns
):
    own = without(run, *missing)
    write_report(own, tmp_path)
    page = Page(tmp_path / "report.html")
    assert {path.stem for path in (tmp_path / "figures").glob("*.png")} == FIGURES
    assert all(sentence in page.text for sentence in answer(own))
    assert definition in page.text
    assert "because the counterfactual prompts do not move the source" in page.text
    assert headings(page) == (
        f"head verdict {columns} effect everywhere (%) effect at the query (%) "
        "effect on the edge (%) p on the edge"
    )
    assert "CAS" not in page.text
    assert "undefined" not in page.text
    assert "preset own pairs" in page.text


def test_without_a_source_the_page_has_effects_alone(run, tmp_path):
    own = without_source(run)
    write_report(own, tmp_path)
    page = Page(tmp_path / "report.html")
    figures = {path.stem for path in (tmp_path / "figures").glob("*.png")}
    assert figures == {"behaviour", "heatmaps", "tiers"}
    assert page.text.count("The pairs name no source, so attention is not scored.") == 1
    assert headings(page) == "head effect everywhere (%) effect at the query (%) p at the query"
    for claim in ("CAS", "attends,", "not attend", "without attending", "disagree", "undefined"):
        assert claim not in page.text
    text = page.text.split("verdicts.csv")[-1]
    largest = own.tables["verdicts"].set_index("label")["effect_query"].abs().nlargest(20)
    assert [label for label in largest.index if f"{label} " in text] == largest.index.to_list()
    assert sum(f"{label} " in text for label in own.tables["verdicts"]["label"]) == 20


def test_a_league_without_rows_may_be_missing(run, tmp_path):
    """Read again from the disk, an empty table may be none at all."""
    own = without_source(run)
    tables = {name: table for name, table in own.tables.items() if name != "league"}
    pages = []
    for name, kept in (("empty", own.tables), ("missing", tables)):
        write_report(Run(settings=own.settings, tables=kept), tmp_path / name)
        pages.append((tmp_path / name / "report.html").read_bytes())
    assert pages[0] == pages[1]


def test_on_long_contexts_nothing_is_said_of_the_effect_everywhere(run, tmp_path):
    write_report(without(run, "effect_everywhere"), tmp_path)
    page = Page(tmp_path / "report.html")
    assert {path.stem for path in (tmp_path / "figures").glob("*.png")} == FIGURES
    assert headings(page) == (
        "head verdict raw attention CAS sink effect at the query (%) effect on the edge (%) "
        "p on the edge"
    )
    assert "Not measured: the effect everywhere." in page.text
    assert "of the gap everywhere" not in page.text
    assert "72 heads at 2 tiers" in page.text


def test_optional_tables_may_be_missing(run, tmp_path):
    tables = {name: table for name, table in run.tables.items() if name != "battery"}
    tables["verdicts"] = tables["verdicts"].assign(verdict="neither")
    write_report(Run(settings=run.settings, tables=tables), tmp_path)
    text = Page(tmp_path / "report.html").text
    assert "without a task" not in text
    assert "Two heads" not in text
    assert "For no head, at these thresholds." in text


def test_the_index_links_the_page_of_every_task(run, tmp_path):
    runs = {"agreement": run, "a task & <more>": failing_run(), "own": without_source(run)}
    write_index(runs, tmp_path)
    page = Page(tmp_path / "report.html")
    links = [unquote(address) for address in page.addresses if not address.startswith("data:")]
    assert links == [f"{name}/report.html" for name in runs]
    assert sum(address.startswith("data:image/png") for address in page.addresses) == 2
    for sentence in [sentence for each in runs.values() for sentence in answer(each)]:
        assert sentence in page.text


def test_an_index_of_nothing_is_refused(tmp_path):
    with pytest.raises(ValueError, match="expected") as error:
        write_index({}, tmp_path)
    assert str(error.value) == "expected the runs of at least one task, got none; run a task first."
