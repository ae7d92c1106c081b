"""The same prompt in three forms, and one prefix, exactly once."""

import pytest
import torch

TEXT = "The farmer knew the senators"


def test_text_tokens_and_ids_agree(tiny):
    """Text, list of tokens and list of ids give the same ids and labels."""
    from_text = tiny.tokens(TEXT)
    pieces = tiny.tokenizer.tokenize(TEXT)
    assert tiny.tokens(pieces) == from_text
    assert tiny.tokens(list(from_text.ids)) == from_text
    assert from_text.ids[0] == tiny.tokenizer.convert_tokens_to_ids("<|endoftext|>")


def test_labels_are_as_many_as_the_keys_of_the_pattern(tiny):
    tokens = tiny.tokens(TEXT)
    patterns = []

    def keep(layer, name, tensor):
        if name == "pattern":
            patterns.append(tensor)
        return tensor

    with torch.inference_mode(), tiny.plain.hooked(keep):
        tiny.plain(torch.tensor([tokens.ids]))
    assert len(patterns) == tiny.n_layers
    assert {pattern.shape[-1] for pattern in patterns} == {len(tokens.labels)}
    assert "".join(tokens.labels) == f"<|endoftext|>{TEXT}"


def test_ids_without_the_prefix_name_the_policy(tiny):
    ids = list(tiny.tokens(TEXT).ids[1:])
    with pytest.raises(ValueError) as error:
        tiny.tokens(ids)
    assert str(error.value) == (
        "ids are taken as they are and must have the prefix policy's '<|endoftext|>' around them, "
        "got 'The farmer knew' …; add it, or load the model with another prefix."
    )


@pytest.mark.parametrize("special", ["<|endoftext|>", "<|im_start|>"])
def test_a_text_that_brings_its_own_first_token_is_refused(tiny, special):
    """Never two first tokens: neither a doubled prefix nor a chat turn behind a separator."""
    with pytest.raises(ValueError) as error:
        tiny.tokens(f"{special}{TEXT}")
    assert str(error.value) == (
        f"the text begins with the special token {special!r}, and the prefix is added to every "
        "text; remove it and choose the prefix (document, bos or none), or give ids."
    )


def test_each_prefix_policy_puts_its_token_once(tiny):
    text_ids = tiny.tokens(TEXT).ids[1:]
    for policy, token in (("document", "<|endoftext|>"), ("bos", "<|im_start|>")):
        model = tiny.with_prefix(policy)
        number = tiny.tokenizer.convert_tokens_to_ids(token)
        assert model.tokens(TEXT).ids == (number, *text_ids)
    assert tiny.with_prefix("none").tokens(TEXT).ids == text_ids


def test_an_unknown_policy_names_the_others(tiny):
    with pytest.raises(ValueError) as error:
        tiny.with_prefix("eos")
    assert str(error.value) == "expected a prefix among document, bos, none, got 'eos'."


def test_an_unknown_token_is_named(tiny):
    with pytest.raises(ValueError, match="'blub' is no token of this vocabulary"):
        tiny.tokens(["The", "blub"])
