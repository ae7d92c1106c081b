"""Items to batches: pairs side by side, spans checked by decoding, clear refusals."""

from dataclasses import replace

import pytest
import torch

from interp.encode import encode, with_few_tokens
from interp.items import Relation, Span
from tests.conftest import agreement_pair


def test_a_batch_holds_each_item_with_its_counterfactual(items, tokenizer):
    (batch,) = encode(items, tokenizer, before=[0])
    assert len(batch) == len(items)
    for row, item in enumerate(batch.items):
        donor = batch.items[batch.donor[row]]
        assert donor.clean_text == item.corrupt_text
        assert donor.answer_text == item.foil_text
        assert tokenizer.decode(batch.ids[row]) == f"<|endoftext|>{item.clean_text}"
        assert tokenizer.decode([batch.answer[row]]) == item.answer_text
        assert tokenizer.decode([batch.foil[row]]) == item.foil_text


def test_spans_become_the_tokens_that_contain_them(items, tokenizer):
    (batch,) = encode(items, tokenizer, before=[0])
    for row, item in enumerate(batch.items):
        (span,) = item.source
        word = item.clean_text[span.start : span.end]
        assert tokenizer.decode(batch.ids[row][batch.source[row]]) == f" {word}"
        assert batch.query[row] == batch.ids.shape[1] - 1
        assert batch.special[row].nonzero().tolist() == [[0]]
    edges = batch.edge.sum(1)
    assert (edges == 2).all(), "a role flip has both slots on its edge"


def test_items_of_several_lengths_become_several_batches(tokenizer):
    short = agreement_pair("farmer", "pilots", pair_id="a")
    long = [
        replace(
            item,
            pair_id="b",
            clean_text=f"Near the pilot {item.clean_text}",
            corrupt_text=f"Near the pilot {item.corrupt_text}",
            source=(),
            distractors=(),
        )
        for item in short
    ]
    batches = encode([*short, *long], tokenizer, before=[0])
    lengths = [batch.ids.shape[1] for batch in batches]
    assert lengths == sorted(set(lengths))
    assert [len(batch) for batch in batches] == [2, 2]


def test_the_first_difference_is_the_flipped_word(items, tokenizer):
    (batch,) = encode(items, tokenizer, before=[0])
    assert "knew" in tokenizer.decode(batch.ids[1, batch.first_difference])


def test_first_completes_the_pairs(items, tokenizer):
    (batch,) = encode(items, tokenizer, before=[0])
    few = batch.first(3)
    assert [item.item_id for item in few.items] == ["p0.a", "p0.b", "p1.a", "p1.b"]
    assert few.donor.tolist() == [1, 0, 3, 2]


def test_reordered_items_keep_their_donors(items, tokenizer):
    (batch,) = encode(items, tokenizer, before=[0])
    turned = batch.reordered(torch.arange(len(batch)).flip(0))
    for row, item in enumerate(turned.items):
        assert turned.items[turned.donor[row]].clean_text == item.corrupt_text


def test_unequal_lengths_name_the_pair_and_both_lengths(tokenizer):
    clean, corrupt = agreement_pair("farmer", "pilots", pair_id="a", words=("near", "near the"))
    with pytest.raises(ValueError) as error:
        encode([clean, corrupt], tokenizer, before=[0])
    assert str(error.value) == (
        "item a.a has 5 tokens and its counterfactual 6; the two texts of a pair must be equally "
        "long in tokens."
    )


def test_texts_that_do_not_differ_are_refused(tokenizer):
    pair = agreement_pair("farmer", "pilots", pair_id="a", words=("near", "near"))
    with pytest.raises(ValueError, match="the two texts of item a.a are the same tokens"):
        encode(pair, tokenizer, before=[0])


def test_one_direction_alone_is_refused(items, tokenizer):
    with pytest.raises(ValueError, match="the counterfactual of item p0.a is not among the items"):
        encode(items[:1], tokenizer, before=[0])


def test_no_items_are_refused(tokenizer):
    with pytest.raises(ValueError, match="expected at least one pair, got no items"):
        encode([], tokenizer, before=[0])


def test_an_answer_of_several_tokens_lists_its_pieces(tokenizer):
    pair = [
        replace(item, answer_text=" isx")
        for item in agreement_pair("farmer", "pilots", pair_id="a")
    ]
    with pytest.raises(ValueError, match=r"' isx' is not one token .*\[' is', 'x'\]"):
        encode(pair, tokenizer, before=[0])


def test_a_span_beside_its_word_is_refused(tokenizer):
    """A span that covers no word is found out by decoding, whatever the offsets say."""
    clean, corrupt = agreement_pair("farmer", "pilots", pair_id="a")
    shifted = replace(clean, source=(Span(3, 4),))
    with pytest.raises(ValueError, match="expected ' '"):
        encode([shifted, corrupt], tokenizer, before=[0])


def test_a_further_relation_is_found_token_by_token_and_follows_its_item(tiny, items):
    """Pronoun to name beside last word to name: each edge has its own start and its own target."""
    first = items[0]
    words = {
        word: Span(first.clean_text.index(word), first.clean_text.index(word) + len(word))
        for word in first.clean_text.split()[1:3]
    }
    start, target = words.values()
    related = [replace(first, relations=(Relation("r", start, (target,)),)), *items[1:2]]
    (batch,) = tiny.encode(related)
    edges = batch.relations["r"]
    shift = len(tiny.prefix.before)
    assert edges.query.nonzero().tolist() == [[0, shift + 1]]
    assert edges.source.nonzero().tolist() == [[0, shift + 2]]
    turned = batch.reordered(torch.tensor([1, 0])).relations["r"]
    assert turned.source.nonzero().tolist() == [[1, shift + 2]]


def test_a_query_inside_the_text_is_where_the_answer_is_read(tiny, items):
    inside = []
    for item in items[:2]:
        end = item.clean_text.index(" the ")
        word = Span(item.clean_text.rindex(" ", 0, end) + 1, end)
        inside.append(replace(item, query=word))
    (batch,) = tiny.encode(inside)
    assert batch.query.tolist() == [len(tiny.prefix.before) + 2] * 2


def test_fewer_pairs_are_taken_evenly_from_every_batch(tiny, items):
    batches = tiny.encode(items)
    assert with_few_tokens(batches, 10_000) == batches
    n_tokens = sum(batch.ids.numel() for batch in batches)
    half = with_few_tokens(batches, n_tokens // 2)
    for part, whole in zip(half, batches, strict=True):
        pairs = list(dict.fromkeys(item.pair_id for item in whole.items))
        assert {item.pair_id for item in part.items} == set(pairs[::2])
        assert len(part) == 2 * len(pairs[::2])
        assert part.donor[part.donor].tolist() == list(range(len(part)))
        assert sum(batch.ids.numel() for batch in half) < n_tokens
    fewest = min(len(batch) // 2 for batch in batches)
    least = with_few_tokens(batches, 1, a_template=fewest)
    assert [len(batch) for batch in least] == [len(batch) for batch in batches]
    assert sum(map(len, with_few_tokens(batches, 1))) < sum(map(len, batches))
