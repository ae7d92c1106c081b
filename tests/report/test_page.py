"""Pages stand alone, show everything as text, and claim nothing that was not measured."""

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

from .example import example_run, failing_run

FIGURES = {
    "attention_against_effect",
    "behaviour",
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
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.addresses += [value for name, value in attributes if name in {"src", "href"}]

    def handle_endtag(self, tag):
        if tag in {"td", "th"}:
            self.pieces.append(" ")

    def handle_data(self, data):
        self.pieces.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.pieces).replace("\xa0", " ").split())


def test_the_page_loads_nothing(report):
    page = Page(report / "report.html")
    source = (report / "report.html").read_text(encoding="utf-8")
    inline = [address for address in page.addresses if address.startswith("data:image/png;base64,")]
    relative = {address for address in page.addresses if not address.startswith("data:")}
    assert len(inline) == len(FIGURES)
    assert relative == {"verdicts.csv", *(f"figures/{name}.svg" for name in FIGURES)}
    assert not {"script", "link", "iframe", "base"} & set(page.tags)
    assert "url(" not in source
    assert "@import" not in source
    assert "http" not in source


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
    verdicts, pair = run.tables["verdicts"], telling_pair(run.tables["verdicts"])
    for caption in (
        captions.telling_pair(pair),
        captions.heatmaps(verdicts, thresholds=run.settings["thresholds"], pair=pair),
        captions.attention_against_effect(verdicts),
        captions.league(run.tables["league"]),
        captions.behaviour(run.tables["behaviour"]),
    ):
        assert caption in text
    assert text.count("SVG") == Page(report / "report.html").tags.count("figcaption") == 6


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
    first = telling_pair(verdicts)["label"].iloc[0]
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


def test_optional_tables_may_be_missing(run, tmp_path):
    tables = {name: table for name, table in run.tables.items() if name != "battery"}
    tables["verdicts"] = tables["verdicts"].assign(reading="neither")
    write_report(Run(settings=run.settings, tables=tables), tmp_path)
    text = Page(tmp_path / "report.html").text
    assert "without a task" not in text
    assert "Two heads" not in text
    assert "For no head, at these thresholds." in text


def test_the_index_links_the_page_of_every_task(run, tmp_path):
    runs = {"agreement": run, "a task & <more>": failing_run()}
    write_index(runs, tmp_path)
    page = Page(tmp_path / "report.html")
    links = [unquote(address) for address in page.addresses if not address.startswith("data:")]
    assert links == [f"{name}/report.html" for name in runs]
    assert sum(address.startswith("data:image/png") for address in page.addresses) == 1
    for sentence in [*answer(run), *answer(failing_run())]:
        assert sentence in page.text


def test_an_index_of_nothing_is_refused(tmp_path):
    with pytest.raises(ValueError, match="expected") as error:
        write_index({}, tmp_path)
    assert str(error.value) == "expected the runs of at least one task, got none; run a task first."
