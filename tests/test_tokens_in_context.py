"""Tokens, padding and the sink, as people met them in public: each a case and what is right."""

from dataclasses import replace

import pytest
import torch

from interp.encode import token_in_context
from interp.measures.relations import relation_scores
from interp.models import load
from interp.models.record import record
from interp.tasks import check
from tests.conftest import agreement_pair, save_tiny


def test_a_candidate_is_taken_in_the_form_it_has_in_context(tokenizer):
    """Given as "John" and as " John": the second is one token in context, the first is told so."""
    assert tokenizer.decode([token_in_context("The farmer met", " John", tokenizer)]) == " John"
    clean, _ = agreement_pair("farmer", "pilots", pair_id="a")
    with pytest.raises(ValueError) as error:
        check(replace(clean, answer_text="is"), tokenizer)
    assert str(error.value) == (
        'pair "a", item "a.a": in context the answer is " is", with its leading space, got "is".'
    )


def test_a_candidate_of_several_pieces_is_refused_with_its_pieces(tokenizer):
    with pytest.raises(ValueError) as error:
        token_in_context("The farmer met", " Johnis", tokenizer)
    assert str(error.value) == (
        "' Johnis' is not one token after 'The farmer met' (alone it reads [' John', 'is']); give "
        "a continuation that is one token, with its leading space if it has one."
    )


def test_answer_ids_come_from_the_whole_string(tokenizer):
    """Context and answer apart and together: "s" makes another token of "farmer" before it."""
    together = tokenizer("the farmers")["input_ids"]
    apart = [*tokenizer("the farmer")["input_ids"], *tokenizer("s")["input_ids"]]
    assert together != apart
    with pytest.raises(ValueError, match="'s' is not one token after 'the farmer'"):
        token_in_context("the farmer", "s", tokenizer)


def test_unequal_lengths_are_refused_before_any_forward(tiny):
    """Clean with 6 tokens, corrupt with 7: the item and both lengths are named."""
    pair = agreement_pair("farmer", "pilots", pair_id="a", words=("near", "near the"))

    def forbidden(*_):
        raise AssertionError("the model ran")

    handle = tiny.plain.module.register_forward_pre_hook(forbidden)
    try:
        with pytest.raises(ValueError, match=r"item a.a has 5 tokens and its counterfactual 6"):
            tiny.encode(pair)
    finally:
        handle.remove()


def test_the_sink_is_told_apart_and_stays_without_a_first_token(smollm2):
    """With no prefix it is the first word of the text that takes it, and it is still the sink."""
    items = agreement_pair("farmer", "senators", pair_id="a")
    for policy in ("document", "none"):
        (batch,) = smollm2.with_prefix(policy).encode(items)
        assert batch.special.nonzero().tolist() == [[0, 0], [1, 0]]
        table = relation_scores(record(smollm2.plain, batch))
        means = table.groupby(["measure", "layer", "head"])["value"].mean()
        assert {"raw", "sink_mass", "sink_corrected"} <= set(table["measure"])
        assert (means["sink_mass"] > 0.4).sum() > 270 / 2, policy


@pytest.fixture(scope="module")
def by_position(tmp_path_factory, tokenizer):
    """A model with absolute positions; `tiny` has rotary ones."""
    from transformers import GPT2Config

    config = GPT2Config(n_embd=32, n_layer=2, n_head=4, n_positions=64)
    folder = tmp_path_factory.mktemp("models") / "tiny-gpt2"
    return load(str(save_tiny(config, folder, tokenizer)))


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_padded_row_is_its_single_run(tiny, by_position, side):
    """0 to 8 pads in one batch, with mask and positions: logits to 1e-5, no attention to pads."""
    length = 12
    rows = [torch.arange(2, 2 + length - n_pads) for n_pads in range(9)]
    is_token = torch.stack([torch.arange(length) < len(row) for row in rows])
    if side == "left":
        is_token = is_token.flip(1)
    ids = torch.zeros(len(rows), length, dtype=torch.long)
    ids[is_token] = torch.cat(rows)
    positions = (is_token.cumsum(1) - 1).clamp(min=0)
    for model in (tiny, by_position):
        patterns = []

        def keep(layer, name, tensor, patterns=patterns):
            if name == "pattern":
                patterns.append(tensor)
            return tensor

        with torch.inference_mode(), model.plain.hooked(keep):
            padded = model.plain.module(
                input_ids=ids, attention_mask=is_token.long(), position_ids=positions
            ).logits
        with torch.inference_mode():
            single = torch.cat([model.plain(row[None]).logits[0] for row in rows])
        difference = (padded[is_token] - single).abs().max()
        assert difference <= 1e-5 * single.abs().max()
        for pattern in patterns:
            of_tokens = pattern.transpose(1, 2)[is_token]
            on_pads = ~is_token.repeat_interleave(is_token.sum(1), dim=0)
            assert (of_tokens.transpose(0, 1)[:, on_pads] == 0).all()


def test_our_own_batches_have_no_pads(tiny, items):
    """Items of one length a batch: no pad can enter a statistic, and rows do not touch."""
    for batch in tiny.encode(items):
        with torch.inference_mode():
            together = tiny.plain(batch.ids).logits
            alone = torch.cat([tiny.plain(row[None]).logits for row in batch.ids])
        assert (together - alone).abs().max() <= 1e-5 * alone.abs().max()
