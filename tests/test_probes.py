import pytest
import torch

from interp.attention import attention, causal_mask
from interp.probes import leak_probe, same_output_probe
from tests.tiny_bridges import exactly, logits, prompts, tiny_model

TABLE = torch.randn(60, 8, generator=torch.Generator().manual_seed(0))


def attend(ids, *, mask):
    x = TABLE[ids][:, None]
    return attention(x, x, x, scale=1.0, mask=mask)[:, 0]


def test_causal_attention_does_not_leak():
    assert leak_probe(lambda ids: attend(ids, mask=causal_mask(6, 6)), prompts()) == 0.0


def test_attention_without_a_mask_leaks():
    one, other = prompts(), prompts()
    other[:, -1] = 0
    moved = (attend(one, mask=None) - attend(other, mask=None))[:, :-1].abs().max()
    with pytest.raises(
        ValueError,
        match=exactly(
            f"changing the last token moves earlier outputs by {moved:.3g}: this "
            "attends to the future; check its mask."
        ),
    ):
        leak_probe(lambda ids: attend(ids, mask=None), prompts())


def test_a_mask_that_is_one_too_wide_leaks():
    too_wide = torch.ones(6, 6, dtype=torch.bool).tril(diagonal=1)[None, None]
    with pytest.raises(ValueError, match=r"^changing the last token moves earlier outputs"):
        leak_probe(lambda ids: attend(ids, mask=too_wide), prompts())


@pytest.mark.parametrize("f", [lambda ids: TABLE[ids] * 0, lambda ids: TABLE[ids[:, :1]]])
def test_a_function_that_does_not_answer_to_the_last_token_is_no_proof(f):
    with pytest.raises(ValueError, match=r"^the output did not move at the last position"):
        leak_probe(f, prompts())


def test_the_ids_stay_as_they_were():
    ids = prompts()
    leak_probe(lambda ids: attend(ids, mask=causal_mask(6, 6)), ids)
    assert torch.equal(ids, prompts())


def test_asking_falcon_for_its_patterns_changes_its_logits():
    """Case 12: loaded with sdpa, Falcon stops being causal when patterns are asked for."""
    model = tiny_model("falcon", attn_implementation="sdpa")

    def with_patterns(ids):
        return logits(model, ids, output_attentions=True)

    with pytest.raises(ValueError, match=r"^the two runs differ by"):
        same_output_probe(lambda ids: logits(model, ids), with_patterns, prompts())
    with pytest.raises(ValueError, match=r"^changing the last token moves earlier outputs"):
        leak_probe(with_patterns, prompts())


def test_two_ways_that_agree_say_how_closely():
    double = same_output_probe(
        lambda ids: TABLE[ids], lambda ids: (TABLE[ids].double() + 1e-7).float(), prompts()
    )
    assert 0 < double < 1e-6
