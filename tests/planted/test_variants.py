"""The plants in other forms, and what may be demanded of any detector."""

import copy

import numpy as np
import pytest
import torch

from interp.effects import LOGIT_DIFFERENCE, Scope, sweep
from interp.hooks import Zero, ablate, value
from interp.hooks.selection import point
from interp.models import load
from interp.models.names import locate
from interp.models.record import record
from interp.stats import max_t
from tests.planted.test_known import run


def test_an_unknown_name_gets_the_nearest():
    with pytest.raises(ValueError) as error:
        locate("planted/inducton")
    assert str(error.value) == (
        "there is no planted model 'inducton'; did you mean 'planted/induction'?"
    )


def test_a_planted_model_is_written_once_and_without_pickles(plant, tmp_path, monkeypatch):
    monkeypatch.setenv("INTERP_CACHE", str(tmp_path))
    one, other = load("planted/diffuse"), load("planted/diffuse")
    assert one.weights_hash == other.weights_hash
    assert one.name == "planted-diffuse"
    (folder,) = (tmp_path / "planted").iterdir()
    assert {file.name for file in folder.iterdir()} == {
        "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json",
    }  # fmt: skip


def test_a_hook_that_changes_nothing_leaves_every_bit(plant):
    for name in ("chain", "decoys", "bidirectional"):
        model, batch = plant(name)
        hooks = [
            (point(layer, "pattern"), lambda pattern, hook: pattern.clone())
            for layer in range(model.n_layers)
        ]
        with torch.inference_mode():
            plain = model.bridge(batch.ids)
            hooked = model.bridge.run_with_hooks(batch.ids, fwd_hooks=hooks)
        assert torch.equal(plain, hooked)


def test_left_padding_changes_no_logit(plant):
    """On the plain model and on the bridge, with a mask that says what is padding."""
    for name in ("chain", "decoys"):
        model, batch = plant(name)
        n_items = len(batch)
        padded = torch.cat([torch.full((n_items, 3), 2), batch.ids], dim=1)
        mask = torch.cat([torch.zeros(n_items, 3), torch.ones_like(batch.ids)], dim=1).long()
        with torch.inference_mode():
            expected = model.plain(batch.ids).logits[:, -1]
            given = model.plain(padded, mask).logits[:, -1]
            bridged = model.bridge(padded, attention_mask=mask)[:, -1]
        assert torch.allclose(given, expected, atol=1e-5)
        assert torch.allclose(bridged, expected, atol=1e-5)


def test_bfloat16_keeps_the_logits_to_a_hundredth(plant):
    for name in ("agreement", "decoys", "backup"):
        model, batch = plant(name)
        with torch.inference_mode():
            expected = model.plain(batch.ids).logits
            module = copy.deepcopy(model.plain.module).to(torch.bfloat16)
            module.set_attn_implementation("eager")
            given = module(batch.ids).logits.float()
        assert (given - expected)[:, -1].abs().max() <= 1e-2


def test_a_shared_value_kills_both_heads_and_z_kills_one(plant):
    """1.5 = 1 + .5: zero z of the first leaves .5; zero their one value and nothing is left."""
    model, batch = plant("grouped")
    (name,) = value("L0KV0").hook_names

    def without_value(tensor, hook):
        return torch.where((torch.arange(2) == 0)[:, None], 0.0, tensor)

    for hooks, expected in (
        ([], 1.5), (ablate("L0H0", Zero()), 0.5), (ablate("L0H1", Zero()), 1.0),
        ([(name, without_value)], 0.0),
    ):  # fmt: skip
        assert torch.allclose(run(model, batch, hooks), torch.tensor(expected), atol=1e-5)


def test_an_encoders_head_sees_what_follows(plant):
    """The pronoun before both names: the encoder finds the name, a decoder has nothing to find."""
    text = "he then met john today mary"
    for name, expected in (("bidirectional", 1.0), ("decoys", 0.0)):
        model, _ = plant(name)
        ids = torch.tensor([model.tokens(text).ids])
        john, mary = (
            model.tokenizer.convert_tokens_to_ids(f"▁{name}") for name in ("john", "mary")
        )
        without_constants = ablate("L0H4", Zero()) if name == "decoys" else []
        with torch.inference_mode():
            logits = model.bridge.run_with_hooks(ids, fwd_hooks=without_constants)[0, 1]
        assert (logits[john] - logits[mary]).item() == pytest.approx(expected, abs=1e-5)


@pytest.fixture(scope="module")
def effects(plant):
    """Effects at the query of the crowded decoys, `[item, head]`, with nothing but themselves."""
    model, batch = plant("decoys")
    table = sweep(model, [batch], scopes=[Scope.QUERY])
    table["effect"] = table["intact"] - table["edited"]
    return table.pivot(index="item_id", columns=["layer", "head"], values="effect").to_numpy()


def noisy(values, generator):
    """A difference of two logit differences, each logit with noise of standard deviation .1."""
    return values + generator.normal(scale=0.2, size=values.shape)


def test_the_causal_head_is_found_in_noise_and_no_other(effects):
    """64 items, noise on every logit: the one head that matters, in each of 20 runs."""
    generator = np.random.default_rng(0)
    values = np.vstack([effects, effects])
    found = [
        max_t(noisy(values, generator), [np.arange(64)], n_draws=499, seed=seed).p_value < 0.05
        for seed in range(20)
    ]
    assert all(run[0] for run in found)
    assert sum(run[1:].any() for run in found) <= 3


def test_no_head_is_found_where_none_matters(effects):
    """100 runs of noise alone at a family-wise error of 5 %: the 99 % bound on a count is 11."""
    generator = np.random.default_rng(1)
    nothing = np.zeros((64, effects.shape[1]))
    n_false = sum(
        (
            max_t(noisy(nothing, generator), [np.arange(64)], n_draws=199, seed=seed).p_value < 0.05
        ).any()
        for seed in range(100)
    )
    assert n_false <= 11


def test_attention_cannot_tell_decoys_and_removal_can(plant, effects):
    """CAS ranks four decoys level with the head that does it; |effect| has it first, alone."""
    model, batch = plant("decoys")
    pattern = torch.stack(record(model.plain, batch).pattern, 1)[:, 0]
    cas = (pattern * batch.source[:, None]).sum(-1) - (
        pattern[batch.donor] * batch.source[:, None]
    ).sum(-1)
    assert torch.allclose(cas.mean(0)[:5], torch.ones(5), atol=1e-5)
    sizes = np.abs(effects.mean(axis=0))
    assert sizes[0] == pytest.approx(2, abs=1e-5)
    assert (sizes[1:] < 1e-5).all()


def test_where_no_head_looks_at_the_source_the_edge_is_0_and_no_error(plant):
    """Nothing goes over the edge of a relay, so there is nothing that could fail to act."""
    model, batch = plant("relay")
    table = sweep(model, [batch], scopes=[Scope.EDGE], metric=LOGIT_DIFFERENCE)
    assert (table["intact"] - table["edited"]).abs().max() < 1e-5
