import pytest
import torch

from interp import hooks
from interp.models.bridge import boot
from tests.tiny_bridges import prompts, tiny_model


@pytest.mark.parametrize("runs", ["llama", "bert"])
def test_a_frozen_pattern_looks_as_in_the_other_run_and_takes_the_values_of_this_one(runs, request):
    runs = request.getfixturevalue(runs)
    after = runs.cached(hooks.freeze_pattern("1.2", runs.donor))["blocks.1.attn.hook_z"]
    value = runs.intact["blocks.1.attn.hook_v"]
    looks = runs.donor["blocks.1.attn.hook_pattern"][:, 2]
    expected = looks @ value[:, :, 2 * value.shape[2] // 4]
    assert torch.allclose(after[:, :, 2], expected, atol=1e-6)
    assert torch.equal(after[:, :, 1], runs.intact["blocks.1.attn.hook_z"][:, :, 1])


def test_pattern_and_value_side_together_are_the_whole_head(llama):
    """Where it looks and what it brings, both from the other run: nothing else is in z."""
    heads = ["0.2", "0.3"]
    both = hooks.freeze_pattern(heads, llama.donor) + hooks.patch(hooks.value("L0KV1"), llama.donor)
    whole = hooks.ablate(heads, hooks.Resample(llama.donor))
    assert torch.allclose(llama.edited(both), llama.edited(whole), atol=1e-5)


# family, and how many keys the query at position 5 of 6 may attend to in the first layer
@pytest.mark.parametrize(
    ("family", "n_keys"),
    [("llama", 6), ("bert", 6), ("opt", 6), ("gpt2", 6), ("bloom", 6), ("mpt", 6), ("gpt_neo", 3),
     ("mistral", 4), ("gemma2", 4)],
)  # fmt: skip
def test_a_uniform_pattern_is_even_over_the_keys_that_the_mask_allows(tokenizer, family, n_keys):
    bridge = boot(tiny_model(family), tokenizer, name="tiny")
    with bridge.hooks(fwd_hooks=hooks.uniform_pattern("0.1")):
        _, cache = bridge.run_with_cache(prompts())
    row = cache["blocks.0.attn.hook_pattern"][0, 1, 5]
    expected = torch.zeros(6)
    expected[6 - n_keys :] = 1 / n_keys
    assert torch.allclose(row, expected, atol=1e-6)
    _, intact = bridge.run_with_cache(prompts())
    other = cache["blocks.0.attn.hook_pattern"][:, 0]
    assert torch.equal(other, intact["blocks.0.attn.hook_pattern"][:, 0])
