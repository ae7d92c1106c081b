"""Descriptions of items for each kind of model."""

import pytest
from transformers import BertConfig, BertForMaskedLM, BertTokenizerFast

from interp.describe import describe, marked_tokens
from interp.tasks.readers.reading import reading
from tests.conftest import WORDS, agreement_pair, items, save_tiny  # noqa: F401  `items` is a fixture


@pytest.fixture(scope="module")
def masked_model(tmp_path_factory):
    """A random BERT whose vocabulary holds the words of the items."""
    from interp.models import load

    folder = tmp_path_factory.mktemp("bert")
    words = [*(word.lower() for word in WORDS), "same", "."]
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *dict.fromkeys(words)]
    (folder / "vocab.txt").write_text("\n".join(vocabulary))
    tokenizer = BertTokenizerFast(vocab=str(folder / "vocab.txt"))
    config = BertConfig(
        vocab_size=len(vocabulary), hidden_size=32, intermediate_size=48, num_hidden_layers=2,
        num_attention_heads=4, max_position_embeddings=32, architectures=["BertForMaskedLM"],
    )  # fmt: skip
    BertForMaskedLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return load(str(folder))


def test_a_masked_model_is_asked_at_the_mask(masked_model):
    """The contrast by a second route: `masked_differences` on the sentences as they are printed."""
    from interp.measures.masked import masked_differences

    pairs = [
        item
        for nouns in (("farmer", "pilots"), ("doctor", "senators"))
        for item in agreement_pair(*nouns, pair_id=nouns[0])
    ]
    found = describe(masked_model, reading(pairs, []))
    assert found.measured == "logit of the answer less that of the foil, at a mask"
    assert found.examples["tokens"][0] == (
        "[CLS]|the|[S:farmer]|[C:beside]|the|[D:pilots]|[Q:[MASK]]|the|same|.|[SEP]"
    )
    asked = [
        (f"{item.clean_text} [MASK] the same.", item.answer_text.strip(), item.foil_text.strip())
        for item in pairs
    ]
    by_hand = masked_differences(masked_model, asked)["logit_difference"]
    assert found.cells["logit_difference"].mean() == pytest.approx(
        by_hand.groupby([item.labels["first"] for item in pairs]).mean().mean(), abs=1e-5
    )


def test_what_cannot_be_seen_is_spelt_out_and_long_stretches_are_counted(tiny):
    """Only the neighbours of marked tokens are printed in full."""
    from dataclasses import replace

    (item, _) = agreement_pair("farmer", "pilots", pair_id="p")
    line = replace(item, clean_text=item.clean_text.replace(" beside", "\n beside"))
    line = replace(line, distractors=())
    assert "|\\n|" in marked_tokens(line, tiny)
    long = replace(item, clean_text=item.clean_text + " near" * 20, distractors=())
    assert marked_tokens(long, tiny) == (
        "<|endoftext|>|The|[S: farmer]| beside| the| pilots| near|… 14 tokens …| near| near| near"
        "| near|[Q: near]"
    )


def test_what_the_counterfactual_changes_is_shown_wherever_it_stands(tiny):
    """Far from source and query, and in the same place as one of them."""
    from dataclasses import replace

    (item, _) = agreement_pair("farmer", "pilots", pair_id="p")
    far = replace(
        item,
        clean_text=item.clean_text + " near" * 6 + " is" + " near" * 6,
        corrupt_text=item.clean_text + " near" * 6 + " are" + " near" * 6,
        distractors=(),
    )
    assert "|[C: is]|" in marked_tokens(far, tiny)
    source = replace(item, corrupt_text=item.clean_text.replace("farmer", "doctor"))
    assert "|[CS: farmer]| beside|" in marked_tokens(source, tiny)


def test_a_p_value_is_not_printed_as_zero():
    import pandas as pd

    from interp.describe import _printed

    table = pd.DataFrame(
        {"p_value": [1e-9, 0.0421, float("nan")], "contrast": [1.0, 2.0, float("nan")]}
    )
    assert [line.split() for line in _printed(table).splitlines()] == [
        ["p_value", "contrast"],
        ["<.001", "1.000"],
        ["0.042", "2.000"],
        ["–", "–"],
    ]


def test_items_are_counted_by_template_and_left_out_ones_keep_their_reason(tiny, items):  # noqa: F811
    found = describe(tiny, reading(items, [("a file, line 3", "a reason")]))
    assert list(found.counts.itertuples(index=False, name=None)) == [
        ("near", 4, 2, 6),
        ("t", 12, 6, 6),
    ]
    assert list(found.dropped.itertuples(index=False, name=None)) == [
        ("a file, line 3", "a reason")
    ]
    assert {row["table"] for row in found.as_rows()} == {
        "counts", "dropped", "examples", "balance", "heuristics", "behaviour", "cells",
    }  # fmt: skip
