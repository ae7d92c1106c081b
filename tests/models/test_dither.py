"""Weights moved within their quantisation step."""

import pytest
import torch

from interp.models.dither import BLOCK, dithered, steps


def _rounded(seed, *, rows=6, blocks=3):
    """Weights on 16 levels a block, both ends taken, with the step of each."""
    generator = torch.Generator().manual_seed(seed)
    level = torch.randint(16, (rows, blocks, BLOCK), generator=generator)
    level[..., 0], level[..., 1] = 0, 15
    step = torch.rand(rows, blocks, 1, generator=generator) + 0.1
    least = torch.randn(rows, blocks, 1, generator=generator)
    return (least + step * level).reshape(rows, -1), step[..., 0]


def test_the_step_of_a_block_is_found_from_its_weights():
    weight, step = _rounded(0)
    assert torch.allclose(steps(weight), step, rtol=1e-4)


@pytest.mark.parametrize("weight", [torch.randn(4, 64), torch.randn(4, 40)])
def test_weights_that_were_not_rounded_have_no_step(weight):
    assert not steps(weight).any()


def test_weights_of_the_real_model_move_by_up_to_half_a_step_and_no_other(smollm2):
    moved = dithered(smollm2, seed=0)
    here, there = (dict(each.plain.module.named_parameters()) for each in (smollm2, moved))
    name = "model.layers.3.mlp.up_proj.weight"
    change, step = (there[name] - here[name]).abs(), steps(here[name])
    assert (change.reshape(*step.shape, BLOCK) <= step[..., None] * 0.5001).all()
    assert change.mean() == pytest.approx(step.mean().item() / 4, rel=0.01)
    for kept in ("model.embed_tokens.weight", "model.norm.weight"):
        assert torch.equal(here[kept], there[kept])
    assert moved.weights_hash != smollm2.weights_hash
    assert torch.equal(
        there[name], dict(dithered(smollm2, seed=0).plain.module.named_parameters())[name]
    )
    ids = torch.tensor([[0, 504, 2644, 314]])
    shift = (smollm2.plain.last_block(ids) - moved.plain.last_block(ids)).abs().max()
    assert shift > 1e-3


def test_a_model_that_was_not_rounded_is_refused(tiny):
    with pytest.raises(ValueError, match="no weight of .* lies on blocks of 16 levels"):
        dithered(tiny, seed=0)
