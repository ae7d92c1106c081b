import re
import tomllib
from collections import Counter
from collections.abc import Iterable

import pytest
from transformers import PreTrainedTokenizerFast

from interp.items import Item
from interp.tasks import NAMES, build
from tests.tasks.conftest import DATA


def words_at(item: Item, text: str) -> list[str]:
    return [text[span.start : span.end] for span in (*item.source, *item.distractors)]


def pairs_of(items: list[Item]) -> Iterable[tuple[Item, Item]]:
    return zip(items[0::2], items[1::2], strict=True)


def counts(items: list[Item], *labels: str) -> Counter[tuple[str, ...]]:
    return Counter((item.template_id, *(item.labels[name] for name in labels)) for item in items)


@pytest.mark.parametrize("name", NAMES)
def test_one_token_flips_and_slots_keep_words_and_places(
    name: str, tokenizer: PreTrainedTokenizerFast
) -> None:
    items = build(name, tokenizer, n_pairs=32, seed=0)
    assert len({item.item_id for item in items}) == len(items) == 64
    for a, b in pairs_of(items):
        assert (a.clean_text, a.corrupt_text) == (b.corrupt_text, b.clean_text)
        assert (a.answer_text, a.foil_text) == (b.foil_text, b.answer_text)
        assert (a.pair_id, a.clusters) == (b.pair_id, b.clusters)
        clean, corrupt = (
            tokenizer(i.clean_text, add_special_tokens=False)["input_ids"] for i in (a, b)
        )
        assert len(clean) == len(corrupt) <= 31
        assert sum(x != y for x, y in zip(clean, corrupt, strict=True)) == 1
        source, distractor = (
            words_at(a, a.clean_text)[: len(a.source)],
            words_at(a, a.clean_text)[len(a.source) :],
        )
        assert words_at(b, b.clean_text) == [*distractor, *source]
        assert min(span.start for span in (*a.source, *a.distractors)) > 0


@pytest.mark.parametrize("name", NAMES)
def test_the_seed_decides(name: str, tokenizer: PreTrainedTokenizerFast) -> None:
    first, again, other = (build(name, tokenizer, n_pairs=16, seed=s) for s in (0, 0, 1))
    assert first == again
    assert first != other


@pytest.mark.parametrize("name", NAMES)
def test_both_ways_of_clustering_have_sixteen_clusters_or_more(
    name: str, tokenizer: PreTrainedTokenizerFast
) -> None:
    items = build(name, tokenizer, n_pairs=32, seed=0)
    for side in (0, 1):
        assert len({item.clusters[side] for item in items}) >= 16


def kind_of(item: Item) -> str:
    """`repeat` or `recall`."""
    return item.template_id.partition("-")[0]


@pytest.mark.parametrize("name", NAMES)
def test_lexemes_are_used_evenly(name: str, tokenizer: PreTrainedTokenizerFast) -> None:
    items = [i for i in build(name, tokenizer, n_pairs=192, seed=0) if i.item_id.endswith("a")]
    parts = Counter((i.split, kind_of(i) if name == "long_range" else "") for i in items)
    for part in parts:
        chosen = [i for i in items if part == (i.split, kind_of(i) if name == "long_range" else "")]
        for side in (0, 1):
            used = Counter(item.clusters[side] for item in chosen)
            mean = sum(used.values()) / len(used)
            assert all(abs(count / mean - 1) <= 0.2 for count in used.values())


def test_words_of_blocks_and_lists_are_used_evenly(tokenizer: PreTrainedTokenizerFast) -> None:
    lexicon = tomllib.loads((DATA / "long_range.toml").read_text())
    items = build("long_range", tokenizer, n_pairs=384, seed=0)[0::2]
    for kind, slot in (("repeat", "words"), ("recall", "keys"), ("recall", "values")):
        for number, split in enumerate(("discovery", "confirmation")):
            text = [i.clean_text for i in items if (kind_of(i), i.split) == (kind, split)]
            used = Counter(w for t in text for w in set(re.findall("[A-Za-z]+", t)))
            words = lexicon[kind][slot][number::2]
            expected = sum(used[w] for w in words) / len(words)
            assert all(abs(used[w] / expected - 1) <= 0.2 for w in words)


def test_agreement_answers_in_the_number_of_its_source(tokenizer: PreTrainedTokenizerFast) -> None:
    lexicon = tomllib.loads((DATA / "agreement.toml").read_text())
    singular = {word for word, _ in [*lexicon["nouns"], *lexicon["verbs"]]}
    for item in build("agreement", tokenizer, n_pairs=64, seed=0):
        source, distractor = words_at(item, item.clean_text)
        is_singular = item.labels["source_number"] == "singular"
        assert (source in singular) == (item.answer_text[1:] in singular) == is_singular
        assert (distractor in singular) == (item.foil_text[1:] in singular) != is_singular
        is_clause = item.clean_text.split()[2] in {"knew", "said", "thought", "claimed"}
        assert item.clean_text.split()[4 if is_clause else 1] == source
        assert source.rstrip("s") != distractor.rstrip("s")


def test_agreement_is_balanced(tokenizer: PreTrainedTokenizerFast) -> None:
    items = build("agreement", tokenizer, n_pairs=64, seed=0)
    assert set(counts(items, "source_slot", "source_number").values()) == {8}
    answers = Counter(
        (item.template_id, item.labels["source_slot"], item.answer_text) for item in items
    )
    assert set(answers.values()) == {1}


def test_coreference_answers_with_the_one_who_is_meant(tokenizer: PreTrainedTokenizerFast) -> None:
    lexicon = tomllib.loads((DATA / "coreference.toml").read_text())
    meant = {"He": "men", "His": "men", "She": "women", "Her": "women"}
    toward_first = {wording["flip"][0] for wording in lexicon["causes"]}
    for item in build("coreference", tokenizer, n_pairs=32, seed=0):
        source, distractor = words_at(item, item.clean_text)
        words = re.findall("[A-Za-z]+", item.clean_text)
        if words[-1] == "because":
            slots = (1, 3) if words[2] in toward_first else (3, 1)
            assert (source, distractor) == tuple(words[slot] for slot in slots)
            assert item.answer_text == (" he" if source in lexicon["men"] else " she")
        else:
            (gender,) = {meant[word] for word in words if word in meant}
            assert source in lexicon[gender]
            assert (item.answer_text, item.foil_text) == (f" {source}", f" {distractor}")
        assert (item.labels["source_gender"] == "masculine") == (source in lexicon["men"])


def test_coreference_is_balanced(tokenizer: PreTrainedTokenizerFast) -> None:
    items = build("coreference", tokenizer, n_pairs=32, seed=0)
    assert set(counts(items, "order", "source_gender").values()) == {2}
    assert set(counts(items, "source_slot", "source_gender").values()) == {2}


def test_repeat_answers_with_what_followed_both_times(tokenizer: PreTrainedTokenizerFast) -> None:
    items = [
        i for i in build("long_range", tokenizer, n_pairs=32, seed=0) if kind_of(i) == "repeat"
    ]
    assert len(items) == 32
    for item in items:
        _, *words = item.clean_text.split()
        block, again, query = words[:12], words[12:24], words[24]
        assert block == again
        assert len(set(block)) == 12
        assert item.answer_text[1:] == block[block.index(query) + 1]
        assert item.answer_text[1:] not in (query, item.corrupt_text.split()[-1])
        assert (
            words_at(item, item.clean_text) == [item.answer_text[1:]] * 2 + [item.foil_text[1:]] * 2
        )
        assert len({*item.source, *item.distractors}) == 4


def entry_of_source(item: Item) -> int:
    """How many entries of the list stand before the one that holds the source."""
    return item.clean_text[: item.source[0].start].count(",")


def test_recall_answers_with_the_value_of_the_key(tokenizer: PreTrainedTokenizerFast) -> None:
    items = [
        i for i in build("long_range", tokenizer, n_pairs=24, seed=0) if kind_of(i) == "recall"
    ]
    assert len(items) == 24
    for item in items:
        *entries, query = item.clean_text.partition(": ")[2].split(", ")
        value_of = dict(entry.split(": ") for entry in entries)
        assert len(value_of) == len(set(value_of.values())) == 4
        assert item.answer_text[1:] == value_of[query.rstrip(":")]
        assert words_at(item, item.clean_text) == [item.answer_text[1:], item.foil_text[1:]]
    places = Counter(tuple(entry_of_source(item) for item in pair) for pair in pairs_of(items))
    assert set(places.values()) == {2}
    assert len(places) == 6


def test_an_unknown_name_is_answered_with_the_nearest(tokenizer: PreTrainedTokenizerFast) -> None:
    message = (
        "expected one of agreement, coreference, long_range, or a family such as "
        '"agreement/simple", got "agrement"; did you mean "agreement"?'
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        build("agrement", tokenizer, n_pairs=1, seed=0)


def test_no_pairs_are_an_error(tokenizer: PreTrainedTokenizerFast) -> None:
    with pytest.raises(ValueError, match=r"^n_pairs must be at least 1, got 0\.$"):
        build("agreement", tokenizer, n_pairs=0, seed=0)
