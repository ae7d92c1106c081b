"""Long-range families: the distance is exact, and each mode holds what it promises."""

import re
import tomllib
from functools import cache
from itertools import product

import pytest

from interp.items import Corruption
from interp.models.names import locate
from interp.tasks import build
from interp.tasks.distance import DISTANCES, Mode, most_pairs
from interp.tasks.far import FAMILIES, KINDS, far_name
from tests.tasks.conftest import DATA

PARENTHESES = ("far_agreement", "sentence_end")


@cache
def minilm():
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(locate("minilm-l6").location)


@pytest.fixture(params=["smollm2", "minilm"])
def real_tokenizer(request):
    return minilm() if request.param == "minilm" else request.getfixturevalue("smollm2").tokenizer


def generated(name, tokenizer, n_pairs=2, seed=0, corruption=None):
    """Without the checks of `build`, which have tests of their own and read each text often."""
    (family,) = (family for family in FAMILIES if family.name == name)
    return family.generate(tokenizer, n_pairs, seed, corruption or family.corruptions[0])


SETS = [(kind, corruption) for kind, corruptions in KINDS.items() for corruption in corruptions]


def places(item, tokenizer):
    """By the tokenizer's offsets: the last token of the later slot, of the source, of the text."""
    offsets = tokenizer(
        item.clean_text, add_special_tokens=False, return_offsets_mapping=True
    ).offset_mapping
    ends = {end: place for place, (_, end) in enumerate(offsets)}
    later = max(span.end for span in (*item.source, *item.distractors))
    return ends[later], ends[item.source[-1].end], len(offsets) - 1


@pytest.mark.parametrize("kind", KINDS)
def test_the_query_is_exactly_as_far_as_the_name_says(kind, real_tokenizer):
    """Two tokenizers, every distance, both modes; the later of two slots is counted from."""
    sources, queries = set(), set()
    for distance, mode in product(DISTANCES, Mode):
        # of each pair one direction: the other differs in a word of as many tokens
        for item in generated(far_name(kind, distance, mode), real_tokenizer)[::2]:
            later, source, query = places(item, real_tokenizer)
            assert query - later == distance, item.clean_text[-200:]
            if mode is Mode.FIXED_SOURCE:
                sources.add((item.item_id, source))
            else:
                queries.add((item.template_id, query))
    assert len(sources) == 2, "each item's source stays, however far the query is"
    assert len(queries) == 2, "the query of a wording stays, however near the source is"


@pytest.mark.parametrize(("kind", "corruption"), SETS)
def test_what_stands_between_is_the_same_in_clean_and_corrupt(kind, corruption, smollm2):
    for mode in Mode:
        items = generated(far_name(kind, 64, mode), smollm2.tokenizer, 4, 0, corruption)
        for one, other in zip(items[0::2], items[1::2], strict=True):
            words, others = (item.clean_text.split(" ") for item in (one, other))
            changed = [
                place
                for place, pair in enumerate(zip(words, others, strict=True))
                if len({*pair}) > 1
            ]
            assert len(changed) == 1
            if corruption is not Corruption.REMOVAL:
                assert one.lexemes.keys() == other.lexemes.keys()


def test_filler_names_nobody_and_nothing_that_is_tested(smollm2):
    """No name, no pronoun, no person, and no word of a list stands between source and query."""
    for kind in KINDS:
        for item in generated(far_name(kind, 256, Mode.FIXED_SOURCE), smollm2.tokenizer):
            start = max(span.end for span in (*item.source, *item.distractors))
            sentences = item.clean_text[start:].split(".")[1:-1]
            if kind in PARENTHESES:
                sentences = item.clean_text[start:].split("(")[1].split(")")[0].split(".")
            between = {word.lower() for word in re.findall("[A-Za-z]+", " ".join(sentences))}
            tested = {word.lower() for word in item.lexemes.values()} | {
                item.answer_text.strip().lower(), item.foil_text.strip().lower(),
                "he", "she", "it", "they", "his", "her", "is", "are", "was", "were", "who",
            }  # fmt: skip
            assert not between & tested
            assert len(between) > 10


@pytest.mark.parametrize(("kind", "corruption"), SETS)
def test_sixty_four_pairs_are_balanced_and_in_halves(kind, corruption, smollm2):
    """`build` holds them to every rule of the balance; a pair has its words at every distance."""
    near, far = (far_name(kind, distance, Mode.FIXED_SOURCE) for distance in (16, 32))
    items = build(near, smollm2.tokenizer, n_pairs=64, seed=0, corruption=corruption)
    for split in ("discovery", "confirmation"):
        of_split = [item for item in items if item.split == split]
        assert len(of_split) == 64
        assert len({item.template_id for item in of_split}) == 2
        for side in range(len(items[0].clusters)):
            assert len({item.clusters[side] for item in of_split}) >= 16
    farther = generated(far, smollm2.tokenizer, 8, 0, corruption)
    for item, other in zip(items, farther, strict=False):
        assert (item.item_id, item.lexemes, item.answer_text) == (
            other.item_id,
            other.lexemes,
            other.answer_text,
        )


def words_at(item, spans):
    return [item.clean_text[slice(*span)] for span in spans]


@pytest.mark.parametrize("kind", KINDS)
def test_a_removal_takes_away_what_decides_and_nothing_else(kind, real_tokenizer):
    """One token gives way to a stranger; both sides have the same two answers, exchanged."""
    name = far_name(kind, 16, Mode.FIXED_SOURCE)
    items = build(name, real_tokenizer, n_pairs=32, seed=0, corruption=Corruption.REMOVAL)
    for here, gone in zip(items[0::2], items[1::2], strict=True):
        ids = (
            real_tokenizer(item.clean_text, add_special_tokens=False).input_ids
            for item in (here, gone)
        )
        (stranger,) = (other for one, other in zip(*ids, strict=True) if one != other)
        assert (here.answer_text, here.foil_text) == (gone.foil_text, gone.answer_text)
        assert places(here, real_tokenizer) == places(gone, real_tokenizer)
        assert (here.labels["decider"], gone.labels["decider"]) == ("present", "absent")
        assert {**here.labels, "decider": ""} == {**gone.labels, "decider": ""}
        strange = real_tokenizer.decode([stranger]).strip()
        assert strange.lower() not in here.clean_text.lower().split()
        assert strange not in (here.answer_text.strip(), here.foil_text.strip())
        if here.distractors:  # the answers stand in the text, whoever is asked for
            found = {*words_at(gone, gone.source), *words_at(gone, gone.distractors)}
            assert found == {here.answer_text.strip(), here.foil_text.strip()}
        assert not gone.relations


@pytest.mark.parametrize("kind", ["repeat", "induction_gap", "recall", "needle"])
def test_what_is_asked_stands_in_the_list_unless_it_was_removed(kind, smollm2):
    """The asked word is read from the tail, as the file has it."""
    wordings = tomllib.loads((DATA / "distances.toml").read_text())[kind]["wordings"]
    tails = {each["id"]: re.escape(each["tail"]) for each in wordings}
    slots = set()
    name = far_name(kind, 16, Mode.FIXED_SOURCE)
    for item in generated(name, smollm2.tokenizer, 32, 0, Corruption.REMOVAL):
        tail = (
            tails[item.template_id].replace(r"\{query\}", r"(\w+)").replace(r"\{middle\}", r"\w+")
        )
        asked = re.search(f"{tail}$", item.clean_text)
        before = re.findall(r"\w+", item.clean_text[: asked.start()])
        assert (asked[1] in before) == (item.labels["decider"] == "present")
        slots.add((item.template_id, item.labels["source_slot"]))
    assert len(slots) == 8, "each wording asks for the nearest and for an earlier one"


def test_hand_read(smollm2):
    """One of each kind, as a person reads it."""
    first = {
        kind: generated(far_name(kind, 16, Mode.FIXED_SOURCE), smollm2.tokenizer)[0]
        for kind in KINDS
    }
    told = {
        kind: re.sub(r"(\. |\().*(\.)(?= |\))", r"\1…\2", item.clean_text)
        for kind, item in first.items()
    }
    words = {kind: item.lexemes for kind, item in first.items()}
    w = words["recall"]
    assert told["recall"] == (
        f"Orders: {w['cue0']}: {w['answer0']}, {w['cue1']}: {w['answer1']}, "
        f"{w['cue2']}: {w['answer2']}. …. Orders: {w['cue0']}:"
    )
    assert first["recall"].answer_text == f" {w['answer0']}"
    assert first["recall"].foil_text == f" {w['answer2']}"
    assert first["far_agreement"].corruption is Corruption.FEATURE_FLIP
    noun = words["far_agreement"]["noun"]
    assert told["far_agreement"] == f"The {noun} (….)"
    w = words["far_coreference"]
    assert (
        told["far_coreference"] == f"In the story, {w['name1']} met {w['name2']}. …. His name was"
    )
    (relation,) = first["far_coreference"].relations
    assert first["far_coreference"].clean_text[slice(*relation.query)] == "His"
    assert relation.name == "antecedent"
    assert relation.source == first["far_coreference"].source


def test_a_distance_without_room_is_an_error(smollm2, monkeypatch):
    from interp.tasks.distance import FarPair, FarWording, Side, at_distance
    from interp.tasks.filler import filler_of

    wording = FarWording(id="long", head="We met {name}.", tail=" What was then said of {name}")
    side = Side({"name": "Anna"}, "name", (), "Anna", {})
    pair = FarPair(
        pair_id="p", wording=wording, split="", clusters=("c",), clean=side, corrupt=side,
        nearest="name", stream="s",
    )  # fmt: skip
    filler = filler_of("weather", smollm2.tokenizer)
    message = (
        'the wording "long" takes 7 tokens from its source to its query, and the distance is 4; '
        "shorten the wording or choose a longer distance."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        at_distance(pair, 4, Mode.FIXED_SOURCE, filler, corruption=Corruption.ROLE_FLIP, front="f")
    message = (
        "no sentences of the filler have 1 tokens together, and 1 are to be filled; choose another "
        "distance, or add short sentences to data/filler.toml."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        at_distance(pair, 8, Mode.FIXED_SOURCE, filler, corruption=Corruption.ROLE_FLIP, front="f")


def test_a_longer_filler_begins_as_a_shorter_one(smollm2):
    from interp.tasks.filler import filler_of

    filler = filler_of("weather", smollm2.tokenizer)
    short, long = (filler.text(n, key="k").split(".") for n in (60, 200))
    assert short[:3] == long[:3]
    assert len(smollm2.tokenizer(f"So.{filler.text(60, key='k')}").input_ids) == 62
    assert filler.text(60, key="other").split(".")[0] != short[0]


@pytest.mark.parametrize(
    ("name", "n_pairs"),
    [
        ("long_range/recall/256/fixed_source", 64),
        ("long_range/recall/512/fixed_source", 32),
        ("long_range/recall/8/fixed_query", 16),
        ("agreement/simple", 1_000_000),
    ],
)
def test_a_run_takes_as_many_pairs_as_it_can_hold(name, n_pairs):
    assert most_pairs(name) == n_pairs


def test_committed_reports_are_of_the_items_that_are_built_today(smollm2):
    import json
    from pathlib import Path

    from interp.items import items_hash
    from interp.tasks import NAMES

    for task in NAMES:
        run = Path(__file__).parents[2] / "reports" / "smollm2-135m" / task / "run.json"
        decides = json.loads(run.read_text())["decides"]
        items = build(task, smollm2.tokenizer, n_pairs=32, seed=0)
        assert items_hash(items) == decides["items"]
