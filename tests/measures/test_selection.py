"""Which word a head selects: by hand, against the whole pattern, and what it must beat."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from interp.encode_text import encode_texts
from interp.measures.held_out import best_heads, every_second_document
from interp.measures.selection import NAMES, selected, selection_scores, selections, word_rows
from interp.measures.text_controls import (
    best_offset,
    chance_among,
    chance_open,
    nearest_candidate,
    offset_hits,
)
from interp.measures.word_level import word_pattern
from interp.models.random_init import random_init
from tests.test_encode_text import TEXT, scoring_item


@pytest.fixture
def batch(tokenizer):
    """Words: 0 prefix, 1 The, 2 farmerpilot, 3 near, 4 John, 5 met, 6 the, 7 doctor."""
    items = [
        scoring_item(TEXT, "met", "farmerpilot", ["John"], item_id="a"),
        scoring_item(TEXT, "doctor", "met", item_id="b"),
    ]
    return encode_texts(items, tokenizer, before=[0], longest=64).batches[0]


def test_selection_by_hand(batch):
    """Specials and the query itself are no choice; the second item has no candidates."""
    rows = torch.zeros(2, 3, 8)
    rows[0, 0] = torch.tensor([0.5, 0.0, 0.3, 0.0, 0.1, 0.1, 0.0, 0.0])  # source first
    rows[0, 1] = torch.tensor([0.5, 0.2, 0.1, 0.0, 0.05, 0.15, 0.0, 0.0])  # another word first
    rows[0, 2] = torch.tensor([0.0, 0.0, 0.1, 0.0, 0.2, 0.7, 0.0, 0.0])  # the other candidate
    rows[1, :] = torch.tensor([0.2, 0.0, 0.0, 0.0, 0.0, 0.3, 0.1, 0.4])
    found = selected(rows, batch)
    open_, among, decoy, raw, sink = found[0].T.tolist()
    assert open_ == [1.0, 0.0, 0.0]
    assert among == [1.0, 1.0, 0.0]
    assert decoy == [0.0, 0.0, 1.0]
    assert raw == pytest.approx([0.3, 0.1, 0.1])
    assert sink == pytest.approx([0.5, 0.5, 0.0])
    assert found[1, :, 0].tolist() == [1.0] * 3
    assert found[1, :, 1:3].isnan().all()


@pytest.mark.parametrize("aggregate", ["mean", "last"])
def test_rows_are_those_of_the_whole_pattern_between_words(batch, aggregate):
    generator = torch.Generator().manual_seed(0)
    length = len(batch.ids)
    pattern = torch.rand(3, length, length, generator=generator).softmax(-1)
    whole = word_pattern(pattern, batch.groups, query_aggregate=aggregate)
    rows = word_rows(pattern, batch, query_aggregate=aggregate)
    for number, query in enumerate(batch.query):
        assert torch.allclose(rows[number], whole[:, query], atol=1e-6)
        assert torch.allclose(rows[number].sum(-1), torch.ones(3), atol=1e-6)


def test_of_a_model_it_is_what_its_pattern_says(tiny, batch):
    found = selections(tiny.plain, [batch], query_aggregate="last")
    patterns = []

    def read(layer, name, tensor):
        if name == "pattern":
            patterns.append(tensor[0])
        return tensor

    with torch.inference_mode(), tiny.plain.hooked(read):
        tiny.plain(torch.tensor([batch.ids]))
    for layer, pattern in enumerate(patterns):
        last = pattern[:, batch.groups[5][-1]]
        expected = last[:, list(batch.groups[2])].sum(-1)
        assert torch.allclose(found.raw[0, layer], expected, atol=1e-6)
        sink = last[:, 0]
        assert torch.allclose(found.corrected[0, layer], expected / (1 - sink), atol=1e-5)
    table = selection_scores(found)
    assert len(table) == len(NAMES) * 2 * 16
    assert set(table.loc[~table["valid"], "measure"]) == {"among", "decoy"}


def documents(tokenizer, texts):
    """A text of each document, its last word asking for one of its others."""
    items = [
        scoring_item(text, text.split()[-1], source, others, item_id=str(n), document=str(n))
        for n, (text, source, others) in enumerate(texts)
    ]
    return encode_texts(items, tokenizer, before=[0], longest=32).batches


FOUR = [
    ("red blue green", "blue", ["red"]),  # one before
    ("red blue green", "red", ["blue"]),  # two before
    ("red blue two green", "two", ["red", "blue"]),  # one before
    ("red blue seven green", "blue", ["red"]),  # two before
]


def test_a_fixed_offset_is_chosen_on_some_and_counted_on_others(tokenizer):
    """Documents 0 and 2 choose one before; it is right on neither 1 nor 3."""
    batches = documents(tokenizer, FOUR)
    chooses = every_second_document(batches)
    assert chooses.tolist() == [True, False, True, False]
    assert offset_hits(batches, [1, 2]).tolist() == [
        [True, False],
        [False, True],
        [True, False],
        [False, True],
    ]
    found = best_offset(batches, chosen_on=chooses, counted_on=~chooses, is_causal=True)
    assert (found.offset, found.accuracy) == (1, 0.0)
    first = np.array([True, False, False, False])
    found = best_offset(batches, chosen_on=first, counted_on=~first, is_causal=False)
    assert found.accuracy == pytest.approx(1 / 3)


def test_without_items_to_count_on_it_is_an_error(tokenizer):
    batches, every = documents(tokenizer, FOUR), np.ones(4, dtype=bool)
    with pytest.raises(ValueError) as error:
        best_offset(batches, chosen_on=every, counted_on=~every, is_causal=True)
    assert str(error.value) == (
        "an offset is chosen on some items and counted on others, got 4 and 0; split the items by "
        "document."
    )


def test_chance_and_the_nearest_by_hand(tokenizer, batch):
    batches = documents(tokenizer, FOUR)
    assert chance_open(batches, is_causal=True).tolist() == pytest.approx(
        [1 / 2, 1 / 2, 1 / 3, 1 / 3]
    )
    assert chance_among(batches).tolist() == pytest.approx([1 / 2, 1 / 2, 1 / 3, 1 / 2])
    assert nearest_candidate(batches).tolist() == [1.0, 0.0, 1.0, 1.0]
    assert nearest_candidate([batch]).tolist() == pytest.approx([0.0, np.nan], nan_ok=True)
    assert chance_among([batch]).tolist() == pytest.approx([0.5, np.nan], nan_ok=True)


def test_one_row_a_choice_with_every_control(tiny, tokenizer):
    batches = documents(tokenizer, FOUR * 2)
    table = best_heads(tiny, batches, ["a relation"] * 8, n_seeds=2).set_index("choice")
    assert list(table.index) == ["open", "among"]
    for choice, row in table.iterrows():
        found = selections(tiny.plain, batches, query_aggregate="last")
        hits = getattr(found, choice).numpy()
        chooses = every_second_document(batches)
        best = hits[chooses].mean(0)
        layer, head = np.unravel_index(best.argmax(), best.shape)
        assert row["head"] == f"L{layer}H{head}"
        assert row["accuracy"] == pytest.approx(hits[~chooses, layer, head].mean())
    assert table["n_items"].tolist() == [4, 4]
    assert table["offset_accuracy"].tolist() == [0.0, 0.0]
    needed = ["offset_accuracy", "nearest", "chance", "random_init", "random_embeddings", "decoy"]
    assert table[needed].notna().all(axis=None)


def test_a_random_model_is_of_the_same_shape_and_another_for_each_seed(tiny):
    before = tiny.plain(torch.tensor([[3, 4, 5]])).logits
    one, other = (random_init(tiny, seed=seed, keep_embeddings=False) for seed in (0, 1))
    again = random_init(tiny, seed=0, keep_embeddings=False)
    kept = random_init(tiny, seed=0, keep_embeddings=True)
    weight, embedding = "model.layers.0.self_attn.q_proj.weight", "model.embed_tokens.weight"

    def same(first, second, name):
        return torch.equal(*(each.plain.module.get_parameter(name) for each in (first, second)))

    assert same(one, again, weight)
    assert not same(one, other, weight)
    assert not same(one, tiny, weight)
    assert same(kept, tiny, embedding)
    assert not same(one, tiny, embedding)
    assert torch.equal(tiny.plain(torch.tensor([[3, 4, 5]])).logits, before)
    assert one.name == f"{tiny.name}, random 0"
    assert kept.name == f"{tiny.name}, random 0, embeddings kept"


def test_what_a_query_cannot_see_is_never_selected(tiny, tokenizer):
    """In a causal model a source behind the query gets 0."""
    item = scoring_item("red blue green two", "blue", "two", ["red"])
    batches = encode_texts([item], tokenizer, before=[0], longest=16).batches
    found = selections(tiny.plain, batches, query_aggregate="last")
    assert (found.raw == 0).all()
    assert (found.open == 0).all()
    assert (replace(found, open=found.among).open == 0).all()
