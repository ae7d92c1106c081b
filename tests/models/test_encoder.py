"""MiniLM, a bidirectional encoder without a head: real weights, special tokens always there."""

import pytest
import torch

from interp.models import load
from interp.models.names import locate

TEXT = "The farmer knew the senators"


@pytest.fixture(scope="module")
def minilm():
    return load("minilm-l6")


def test_hidden_states_are_those_of_the_library(minilm):
    from transformers import AutoModel

    own = AutoModel.from_pretrained(locate("minilm-l6").location, attn_implementation="eager")
    ids = torch.tensor([minilm.tokens(TEXT).ids])
    with torch.inference_mode():
        expected = own.eval()(input_ids=ids).last_hidden_state
        given = minilm.plain(ids).last_hidden_state
    assert (given - expected).abs().max() <= 1e-5 * expected.abs().max()


def test_it_is_found_to_be_bidirectional(minilm):
    assert not minilm.is_causal
    assert (minilm.n_layers, minilm.n_heads) == (6, 12)


def test_its_special_tokens_stay(minilm):
    """Text, tokens and ids agree, with [CLS] before and [SEP] after, as the tokenizer does it."""
    tokens = minilm.tokens(TEXT)
    assert list(tokens.ids) == minilm.tokenizer(TEXT).input_ids
    assert (tokens.labels[0], tokens.labels[-1]) == ("[CLS]", "[SEP]")
    assert minilm.tokens(minilm.tokenizer.tokenize(TEXT)) == tokens
    assert minilm.tokens(minilm.tokenizer(TEXT).input_ids) == tokens


@pytest.mark.parametrize("policy", ["none", "bos"])
def test_another_prefix_would_remove_them_and_is_refused(minilm, policy):
    with pytest.raises(ValueError) as error:
        minilm.with_prefix(policy)
    assert str(error.value) == (
        f"an encoder keeps its special tokens; prefix {policy!r} would remove them, use 'document'."
    )


def test_without_a_head_there_are_no_logits(minilm):
    with pytest.raises(ValueError, match="no language-model head, so it has no logits"):
        minilm.plain.readout(torch.zeros(1, 384), None)
