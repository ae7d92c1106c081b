"""Encoders answer at a mask: one piece against one piece, the rest skipped and counted."""

import math

import pytest
import torch
from transformers import BertConfig, BertForMaskedLM, RobertaConfig, RobertaForMaskedLM

from interp.measures.masked import masked_differences
from interp.models import load

TEXT = "the keys to the cabinet [MASK] old"
WORDS = ["the", "keys", "to", "cabinet", "old", "is", "are", "runn", "##ing"]


@pytest.fixture(scope="module", params=["bert", "roberta"])
def folder(request, tmp_path_factory):
    """A small random model of the family, with a WordPiece tokenizer of a few words."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    vocabulary = {word: number for number, word in enumerate([*special, *WORDS])}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    folder = tmp_path_factory.mktemp(request.param)
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]",
        sep_token="[SEP]", mask_token="[MASK]",
    ).save_pretrained(folder)  # fmt: skip
    config, family = {
        "bert": (BertConfig, BertForMaskedLM),
        "roberta": (RobertaConfig, RobertaForMaskedLM),
    }[request.param]
    torch.manual_seed(0)
    family(
        config(
            vocab_size=len(vocabulary), hidden_size=32, num_hidden_layers=3, num_attention_heads=4,
            intermediate_size=48, pad_token_id=0, max_position_embeddings=40,
        )
    ).save_pretrained(folder)  # fmt: skip
    return folder, family


def test_the_difference_is_that_of_the_library_at_the_mask(folder):
    place, family = folder
    model = load(str(place))
    found = masked_differences(model, [(TEXT, "are", "is")])
    ids = model.tokenizer(f"[CLS] {TEXT} [SEP]", add_special_tokens=False).input_ids
    own = family.from_pretrained(place, attn_implementation="eager").eval()
    with torch.inference_mode():
        logits = own(torch.tensor([ids])).logits[0, ids.index(4)]
    are, is_ = 5 + WORDS.index("are"), 5 + WORDS.index("is")
    assert found["logit_difference"][0] == pytest.approx(
        (logits[are] - logits[is_]).item(), abs=1e-5
    )
    assert found["reason"][0] == ""


def test_one_piece_against_two_is_skipped_and_counted(folder):
    model = load(str(folder[0]))
    found = masked_differences(
        model, [(TEXT, "are", "running"), (TEXT, "are", "is"), (TEXT, "blub", "is")]
    )
    assert found["logit_difference"].isna().tolist() == [True, False, True]
    assert found["reason"].tolist() == [
        "'running' is 2 pieces, expected one",
        "",
        "'blub' is unknown",
    ]


@pytest.mark.parametrize("n_masks", [0, 2])
def test_other_than_one_mask_is_an_error(folder, n_masks):
    text = TEXT.replace("[MASK]", " ".join(["[MASK]"] * n_masks))
    with pytest.raises(ValueError, match=f"expected one .MASK. in .*, got {n_masks}"):
        masked_differences(load(str(folder[0])), [(text, "are", "is")])


def test_a_causal_model_is_refused(tiny):
    with pytest.raises(ValueError, match="is no masked language model; for a causal one read"):
        masked_differences(tiny, [(TEXT, "are", "is")])


def test_nothing_is_lost_of_a_question(folder):
    found = masked_differences(load(str(folder[0])), [(TEXT, "are", "is")])
    assert found.loc[0, ["text", "answer", "foil"]].tolist() == [TEXT, "are", "is"]
    assert math.isfinite(found["logit_difference"][0])
