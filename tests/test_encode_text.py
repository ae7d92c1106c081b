"""Natural text to ids: words as groups of tokens, and the items that cannot be placed."""

import re

import pytest

from interp.encode_text import all_items, encode_texts
from interp.items import ScoringItem, Span


def scoring_item(text, query, source, distractors=(), *, words=None, item_id="i", document="d"):
    """Words are what stands between spaces; query, source and distractors are words of the text."""
    spans = words or [Span(*found.span()) for found in re.finditer(r"\S+", text)]

    def at(word):
        return next(span for span in spans if text[span.start : span.end] == word)

    return ScoringItem(
        item_id=item_id,
        task="dependency",
        clusters=(f"document:{document}",),
        text=text,
        words=tuple(spans),
        query=at(query),
        source=(at(source),),
        distractors=tuple(map(at, distractors)),
    )


TEXT = "The farmerpilot near John met the doctor"


def test_words_are_groups_of_tokens_by_number(tokenizer):
    """`farmerpilot` is several tokens and one word; positions begin behind the prefix."""
    item = scoring_item(TEXT, "met", "farmerpilot", ["John", "doctor"])
    encoded = encode_texts([item], tokenizer, before=[0], after=[1], longest=64)
    (batch,) = encoded.batches
    assert batch.ids[0] == 0
    assert batch.ids[-1] == 1
    assert sorted(place for group in batch.groups for place in group) == list(range(len(batch.ids)))
    assert len(batch.groups) == 9
    read = [tokenizer.decode([batch.ids[place] for place in group]) for group in batch.groups]
    assert read[batch.query[0]].strip() == "met"
    assert [read[word].strip() for word in batch.source[0]] == ["farmerpilot"]
    assert [read[word].strip() for word in batch.distractors[0]] == ["John", "doctor"]
    assert batch.special == (0, 8)
    assert len(batch.groups[batch.source[0][0]]) > 1
    assert encoded.dropped.empty


def test_items_of_one_text_are_run_once(tokenizer):
    items = [
        scoring_item(TEXT, "met", "John", item_id="a"),
        scoring_item("red blue green", "green", "red", item_id="b"),
        scoring_item(TEXT, "doctor", "met", item_id="c"),
    ]
    encoded = encode_texts(items, tokenizer, before=[0], longest=64)
    assert [len(batch) for batch in encoded.batches] == [2, 1]
    assert [item.item_id for item in all_items(encoded.batches)] == ["a", "c", "b"]


def test_what_cannot_be_placed_is_left_out_with_the_reason(tokenizer):
    together = "farmer"
    halves = [Span(0, 3), Span(3, 6), Span(7, 10)]
    items = [
        scoring_item(TEXT, "met", "John", item_id="long"),
        ScoringItem(
            item_id="shared",
            task="",
            clusters=("d",),
            text=f"{together} met",
            words=tuple(halves),
            query=halves[0],
            source=(halves[1],),
            distractors=(),
        ),
    ]
    one_token = len(tokenizer(" farmer", add_special_tokens=False)["input_ids"]) == 1
    assert one_token
    items[1] = ScoringItem(
        **{
            **items[1].__dict__,
            "text": " farmer met",
            "words": tuple(Span(span.start + 1, span.end + 1) for span in halves),
            "query": Span(1, 4),
            "source": (Span(4, 7),),
        }
    )
    encoded = encode_texts(items, tokenizer, before=[0], longest=8)
    assert encoded.batches == ()
    assert encoded.dropped.set_index("item_id")["reason"].to_dict() == {
        "long": f"the text has {1 + len(tokenizer(TEXT, add_special_tokens=False)['input_ids'])} "
        "tokens, more than 8",
        "shared": "query and source share a token",
    }


@pytest.mark.parametrize("before", [[], [0]])
def test_without_a_prefix_the_first_word_is_special(tokenizer, before):
    item = scoring_item("red blue green", "green", "blue")
    (batch,) = encode_texts([item], tokenizer, before=before, longest=9).batches
    assert batch.special == (0,)
    assert len(batch.groups) == 3 + len(before)
