"""Rows of unequal length in one batch, and what else a forward is given."""

import pytest
import torch

from interp.models.families import output_of, small_ids, small_model
from tests.models.conftest import BY_NAME, RUNNING, each, own_of, plain_of
from tests.models.test_families import observed

LENGTHS = (8, 5, 1)


def padded(side, *, pad):
    """Three rows of 8, 5 and 1 tokens, and their mask."""
    ids = torch.full((3, 8), pad)
    mask = torch.zeros(3, 8, dtype=torch.long)
    for item, length in enumerate(LENGTHS):
        places = slice(8 - length, None) if side == "left" else slice(length)
        ids[item, places] = small_ids(3, 8)[item, :length]
        mask[item, places] = 1
    return ids, mask


@each(RUNNING)
@pytest.mark.parametrize("side", ["left", "right"])
def test_a_padded_row_is_its_single_run(name, side):
    """Against the family's own model, each row alone and unpadded."""
    plain, own = plain_of(name), small_model(BY_NAME[name]).requires_grad_(False)
    ids, mask = padded(side, pad=plain.module.config.pad_token_id)
    patterns, output = observed(plain, ids, "pattern", attention_mask=mask)
    assert output.isfinite().all()
    for item, length in enumerate(LENGTHS):
        alone = output_of(own(input_ids=small_ids(3, 8)[item : item + 1, :length]))[0]
        torch.testing.assert_close(
            output[item, mask[item].bool()], alone, atol=1e-5 * alone.abs().max().item(), rtol=0
        )
    for pattern in patterns:
        assert (pattern[mask[:, None].expand(-1, 4, -1) == 0] == 0).all()
        assert (pattern.mT[mask[:, None].expand(-1, 4, -1) == 0] == 0).all()


def test_a_mask_without_pads_changes_nothing():
    plain, ids = plain_of("gpt2"), small_ids(2)
    assert torch.equal(plain(ids, torch.ones_like(ids)).logits, plain(ids).logits)


@pytest.mark.parametrize("name", ["bert", "distilbert", "albert", "bert, headless"])
def test_an_encoder_makes_its_mask_from_the_padding(name):
    plain = plain_of(name)
    ids, mask = padded("right", pad=0)
    assert torch.equal(output_of(plain(ids)), output_of(plain(ids, mask)))


def test_sentence_pairs():
    """Segments reach BERT as they reach its own model; DistilBERT has none and says so."""
    ids = small_ids(2)
    segments = (torch.arange(12) > 5).long().expand(2, -1)
    plain = plain_of("bert")
    expected = own_of("bert")(input_ids=ids, token_type_ids=segments).logits
    torch.testing.assert_close(plain(ids, token_type_ids=segments).logits, expected)
    assert (expected - plain(ids).logits).abs().max() > 1e-3
    with pytest.raises(
        ValueError, match="DistilBertForMaskedLM takes no argument 'token_type_ids'"
    ):
        plain_of("distilbert")(ids, token_type_ids=segments)


def test_head_mask_is_an_error_that_names_what_to_use():
    with pytest.raises(
        ValueError,
        match=r"head_mask cannot be passed: it does nothing in transformers 5; to remove a head, "
        r"set its z to 0 in `Plain.hooked`.",
    ):
        plain_of("bert")(small_ids(1), head_mask=torch.zeros(3, 4))


def test_asking_the_model_for_attentions_names_what_to_use():
    with pytest.raises(ValueError, match=r"read it at 'pattern' in `Plain.hooked`"):
        plain_of("gpt2")(small_ids(1), output_attentions=True)


def test_a_misspelt_argument_is_refused():
    with pytest.raises(ValueError, match="no argument 'tokentype_ids'; did you mean 'token_type_"):
        plain_of("bert")(small_ids(1), tokentype_ids=small_ids(1))


@pytest.mark.parametrize(
    ("mask", "sentence"),
    [
        (torch.ones(2, 11, dtype=torch.long), r"shape of the ids, \(2, 12\), got \(2, 11\)"),
        (torch.full((2, 12), 2), "1 for each token and 0 for each pad"),
    ],
)
def test_a_mask_that_does_not_fit_is_refused(mask, sentence):
    with pytest.raises(ValueError, match=sentence):
        plain_of("gpt2")(small_ids(2), mask)


@pytest.mark.parametrize("name", ["llama, dynamic rope", "phi3, longrope"])
def test_angles_that_depend_on_the_longest_row_are_not_padded(name):
    mask = torch.ones(2, 12, dtype=torch.long)
    mask[1, :3] = 0
    with pytest.raises(ValueError, match="depend on the longest row beyond 8 tokens"):
        plain_of(name)(small_ids(2), mask)


def test_a_failed_forward_leaves_no_mask_behind():
    plain, ids = plain_of("gpt2"), small_ids(2)
    mask = torch.ones(2, 12, dtype=torch.long)
    mask[0, :4] = 0

    def raising(layer, name, tensor):
        raise ArithmeticError

    intact = plain(ids).logits
    with pytest.raises(ArithmeticError), plain.hooked(raising):
        plain(ids, mask)
    assert torch.equal(plain(ids).logits, intact)
