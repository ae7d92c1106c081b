"""Logits over a tree of prompts are those of each prompt alone, at the cost of the tree."""

import re

import pytest
import torch

from interp.models import trie
from interp.models.families import VOCABULARY, Variant, small_model
from interp.models.plain import Plain
from interp.models.trie import last_logits
from interp.models.variants import VARIANTS

BY_NAME = {variant.name: variant for variant in VARIANTS}
GOES_ON = ("llama, grouped", "gpt2", "gemma2, windows", "gpt_neo")
RUNS_ALONE = ("bloom", "llama, dynamic rope")


def prompts():
    """Shared beginnings at several depths, one prompt inside another, one twice, one alone."""
    base = torch.randint(3, VOCABULARY, (24,), generator=torch.Generator().manual_seed(0)).tolist()
    return [
        [*base, 4, 5],
        [*base, 4, 6],
        [*base, 7],
        base,
        [*base[:10], 9, 9, 9],
        [*base[:10], 9, 9, 8],
        [*base[:10], 9, 9, 9],
        [11, 12],
        [11, 12, 13, 14, 15, 16],
    ]


def alone(plain):
    return torch.stack([plain(torch.tensor([each])).logits[0, -1] for each in prompts()])


@pytest.mark.parametrize("name", [*GOES_ON, *RUNS_ALONE])
@pytest.mark.parametrize("rows", [30, 4096])
def test_each_prompt_gets_the_logits_of_its_own_forward(name, rows, monkeypatch):
    monkeypatch.setattr(trie, "_ROWS", rows)
    monkeypatch.setattr(trie, "_STRETCH", 7)
    plain = Plain(small_model(BY_NAME[name]))
    expected = alone(plain)
    every = torch.arange(VOCABULARY).expand(len(prompts()), -1)
    assert (
        last_logits(plain, prompts(), every) - expected
    ).abs().max() <= 1e-5 * expected.abs().max()


def test_columns_are_each_prompts_own():
    plain = Plain(small_model(BY_NAME["llama, grouped"]))
    columns = torch.arange(2 * len(prompts())).reshape(-1, 2)
    expected = alone(plain).gather(1, columns)
    assert torch.allclose(last_logits(plain, prompts(), columns), expected, atol=1e-4)


def test_each_token_of_the_tree_is_run_once():
    """Counted at the first block: the distinct beginnings, by plain Python."""
    plain = Plain(small_model(BY_NAME["llama, grouped"]))
    last_logits(plain, [[3]], torch.tensor([[0]]))
    n_run = []
    handle = plain.anatomy.layers[0].register_forward_pre_hook(
        lambda module, args: n_run.append(args[0].shape[0] * args[0].shape[1])
    )
    last_logits(plain, prompts(), torch.zeros(len(prompts()), 1, dtype=torch.long))
    handle.remove()
    n_probe = 8 + 5 + 3
    distinct = {tuple(each[:end]) for each in prompts() for end in range(1, len(each) + 1)}
    assert sum(n_run) - n_probe == len(distinct)
    assert not any(layer._forward_hooks for layer in plain.anatomy.layers), "no hook is left"


def test_a_model_without_a_next_token_is_refused():
    plain = Plain(small_model(Variant(name="bert", family="bert", kind="masked")))
    message = (
        "BertForMaskedLM is no causal language model, and last_logits reads the prediction of the "
        "next token; take the logits at a mask, or hidden states, instead."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        last_logits(plain, [[3, 4]], torch.tensor([[0]]))


def test_an_empty_prompt_is_refused():
    plain = Plain(small_model(BY_NAME["llama, grouped"]))
    with pytest.raises(ValueError, match=r"^expected prompts of at least one token each, got an"):
        last_logits(plain, [[3], []], torch.tensor([[0], [0]]))


def test_the_table_of_answers_is_that_of_the_record(tiny, items):
    """A second route to the same differences: the engine's record."""
    from interp.behaviour import answer_table, item_table
    from interp.effects.metrics import LOGIT_DIFFERENCE

    recorded = item_table(tiny, tiny.encode(items), LOGIT_DIFFERENCE).set_index("item_id")
    table = answer_table(tiny, items).set_index("item_id")
    assert list(table.index) == [item.item_id for item in items]
    for column in ("clean", "corrupt", "n_tokens"):
        assert table[column].to_numpy() == pytest.approx(
            recorded.loc[table.index, column].to_numpy(), abs=1e-4
        )
