"""Families read from a directory, as a person has them."""

import json

import pytest
import torch

from interp.models import load
from interp.models.families import output_of, small_ids, small_model
from interp.models.names import FAMILIES
from tests.models.conftest import BY_NAME


def save_tokenizer(folder):
    """One word an id, with the special tokens of an encoder."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = {f"w{number}": number for number in range(40)}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="w0"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="w0", cls_token="w1", sep_token="w2", bos_token="w1"
    ).save_pretrained(folder)


@pytest.mark.parametrize(
    "name", ["distilbert", "bert, headless", "albert", "t5, encoder", "bloom", "gpt_neo"]
)
def test_a_saved_model_runs_as_it_was(name, tmp_path):
    own, ids = small_model(BY_NAME[name]), small_ids(2)
    own.save_pretrained(tmp_path)
    save_tokenizer(tmp_path)
    model = load(str(tmp_path))
    with torch.no_grad():
        expected = output_of(own(input_ids=ids))
    given = output_of(model.plain(ids))
    torch.testing.assert_close(given, expected, atol=1e-5 * expected.abs().max().item(), rtol=0)
    assert (model.n_layers, model.n_heads) == (3, 4)


def test_a_family_we_do_not_know_is_answered_with_those_we_do(tmp_path):
    save_tokenizer(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "mamba"}))
    (tmp_path / "model.safetensors").write_bytes(b"")
    with pytest.raises(ValueError) as error:
        load(str(tmp_path))
    assert str(error.value) == (
        "family 'mamba' is not supported: our attention was not shown to run in it as it should; "
        f"supported are {', '.join(FAMILIES)}."
    )


def test_both_halves_of_t5_are_refused_with_what_to_load(tmp_path):
    small_model(BY_NAME["t5"]).save_pretrained(tmp_path)
    save_tokenizer(tmp_path)
    with pytest.raises(ValueError, match="load the encoder alone, such as T5EncoderModel"):
        load(str(tmp_path))
