"""Every line of the public files, counted by a second route; skipped where the files are not.

The environment variable INTERP_PUBLIC_DATA names the folder that holds `blimp`, `winogender` and
`gum`, as their authors distribute them.
"""

import json
import os
import re
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from interp.tasks import check
from interp.tasks.readers import (
    read_blimp,
    read_pronouns,
    read_subjects,
    read_winogender,
    read_winogender_templates,
)
from interp.words import word_tokens
from tests.tasks.readers.conftest import read

FOLDER = os.environ.get("INTERP_PUBLIC_DATA")
pytestmark = pytest.mark.skipif(
    FOLDER is None, reason="INTERP_PUBLIC_DATA does not name a folder of public data"
)


def public(*parts):
    path = Path(FOLDER, *parts)
    if not path.is_file():
        pytest.skip(f"there is no {path}")
    return path


def lines_of(path):
    return path.read_text(encoding="utf-8").splitlines()


BLIMP = {
    "anaphor_gender_agreement": 374,
    "distractor_agreement_relational_noun": 230,
    "regular_plural_subject_verb_agreement_1": 184,
}


@pytest.mark.parametrize("name", BLIMP)
def test_blimp(smollm2, name):
    """Kept is what can be: of equal length and words, as many of one answer as of the other."""
    path = public("blimp", f"{name}.jsonl")
    reading = read_blimp(path, smollm2.tokenizer)
    assert len(reading.items) == BLIMP[name]
    assert len(reading.items) + len(reading.dropped) == 1000
    for item in reading.items:
        check(item, smollm2.tokenizer)

    def n_tokens(text):
        return len(smollm2.tokenizer(text)["input_ids"])

    prompts = set()
    for line in lines_of(path):
        record = json.loads(line)
        words = record["one_prefix_word_good"], record["one_prefix_word_bad"]
        if all(n_tokens(f" {word}") == 1 for word in words):
            prompts.add((record["one_prefix_prefix"], *words))
    answers = defaultdict(Counter)
    for prefix, good, bad in prompts:
        answers[n_tokens(prefix), frozenset((good, bad))][good] += 1
    possible = sum(2 * min(count.values()) for count in answers.values() if len(count) == 2)
    assert len(reading.items) == possible


def test_winogender():
    """Every sentence is kept, and the templates make the same ones."""
    sentences = read_winogender(public("winogender", "all_sentences.tsv"))
    templates = read_winogender_templates(public("winogender", "templates.tsv"))
    assert len(sentences.items) == 720
    assert sentences.dropped.empty
    assert templates.dropped.empty
    assert {item.item_id: item for item in sentences.items} == {
        item.item_id: item for item in templates.items
    }
    for item in sentences.items:
        occupation, participant, answer, _ = item.item_id.split(".")
        assert read(item, item.source)[0].casefold() == (occupation, participant)[int(answer)]


GUM = ("gum", "en_gum-ud-dev.conllu")


def test_subjects_of_gum():
    """All 2,218 pairs, and 2,448 with the subtypes."""
    path = public(*GUM)
    counted = Counter(
        re.findall(r"^\d+\t(?:[^\t]*\t){6}(nsubj[^\t]*)\t", path.read_text("utf-8"), re.MULTILINE)
    )
    assert counted["nsubj"] == 2218
    assert counted.total() == 2448
    reading = read_subjects(path)
    by_query = {"verb": Counter(), "before verb": Counter()}
    for item in reading.items:
        by_query[item.labels["query"]][item.labels["relation"]] += 1
    assert by_query["verb"] == counted
    assert by_query["before verb"].total() + len(reading.dropped) == 2448


def n_pronouns_with_an_earlier_mention(path):
    """From the plain lines: third-person pronouns whose entity was opened on an earlier line."""
    n_pronouns = 0
    n_with_antecedent = 0
    earlier = set()
    for line in lines_of(path):
        if line.startswith("# newdoc"):
            earlier = set()
        cells = line.split("\t")
        if len(cells) < 10 or not cells[0].isdigit():
            continue
        if cells[3] == "PRON" and "Person=3" in cells[5]:
            n_pronouns += 1
            own = re.findall(r"\((\d+)-[^()]*\)", cells[9])
            n_with_antecedent += any(entity in earlier for entity in own)
        earlier |= set(re.findall(r"\((\d+)-", cells[9]))
    return n_pronouns, n_with_antecedent


def test_pronouns_of_gum():
    """More than 700 third-person pronouns have an antecedent somewhere before them."""
    path = public(*GUM)
    n_pronouns, n_with_antecedent = n_pronouns_with_an_earlier_mention(path)
    assert (n_pronouns, n_with_antecedent) == (840, 743)
    reading = read_pronouns(path, n_sentences=1000)
    queries = Counter(item.labels["query"] for item in reading.items)
    assert queries["pronoun"] == n_with_antecedent
    dropped = Counter(place.rpartition(", ")[2] for place in reading.dropped["place"])
    assert queries["pronoun"] + dropped["pronoun"] == n_pronouns
    assert queries["before pronoun"] + dropped["before pronoun"] == n_with_antecedent


@pytest.mark.parametrize("name", ["smollm2-135m", "minilm-l6"])
def test_every_word_of_gum_has_its_tokens(name):
    from interp.models import load

    tokenizer = load(name).tokenizer
    items = {item.text: item for item in read_subjects(public(*GUM)).items}
    for text, item in items.items():
        assert all(word_tokens(item.words, text, tokenizer))
