"""Plants in SmolLM2: what is silenced attends as before, what is planted is found at its size."""

import pytest
import torch

from interp.effects import Scope, sweep
from interp.grafts import detection, grafted, silenced
from interp.heads import Head
from interp.models.record import record
from interp.tasks import build

ATTENDER, BYSTANDER = Head(26, 0), Head(28, 3)


@pytest.fixture(scope="module")
def batches(smollm2):
    """Agreement across an attractor, 32 pairs to plant with and 32 others to test on."""
    (batch,) = smollm2.encode(build("agreement", smollm2.tokenizer, n_pairs=64, seed=0))
    rows = torch.arange(len(batch))
    return batch.reordered(rows[rows % 4 < 2]), batch.reordered(rows[rows % 4 >= 2])


def test_a_silenced_head_attends_as_before_and_has_no_effect(smollm2, batches):
    """It gives .4 of the gap; silenced, its pattern is the same to the bit and its effect 0."""
    few = batches[0].first(8)
    planted = silenced(smollm2, few, ATTENDER)
    before, after = record(smollm2.plain, few), record(planted.plain, few)
    assert torch.equal(before.pattern[26], after.pattern[26])
    effects = {
        name: sweep(model, [few], scopes=list(Scope), heads=[ATTENDER])
        for name, model in {"before": smollm2, "after": planted}.items()
    }
    gap = (effects["before"]["intact"] - effects["before"]["corrupt"]).mean()
    change = {name: (table["intact"] - table["edited"]) for name, table in effects.items()}
    assert change["before"].mean() > 0.2 * gap
    assert change["after"].abs().max() < 1e-4 * gap


def test_the_given_model_keeps_its_weights(smollm2, batches):
    few = batches[0].first(4)
    projection = smollm2.plain.module.model.layers[26].self_attn.o_proj.weight
    before = projection.clone()
    planted = silenced(smollm2, few, ATTENDER)
    assert torch.equal(projection, before)
    own = planted.plain.module.model.layers[26].self_attn.o_proj.weight
    assert not own[:, :64].any()
    assert torch.equal(own[:, 64:], before[:, 64:])
    assert planted.weights_hash != smollm2.weights_hash


def test_a_planted_share_is_found_on_other_items(smollm2, batches):
    """At 10 % of the gap the head that does not attend is found; without a graft it is neither."""
    heads = [Head(28, number) for number in range(9)]
    curve = detection(smollm2, *batches, BYSTANDER, [0.0, 0.1], heads=heads).set_index("planted")
    assert abs(curve.loc[0.0, "effect"]) < 0.02
    assert abs(curve.loc[0.1, "effect"] - 0.1) < 0.04  # calibrated on 16 pairs, tested on others
    assert curve.loc[0.1, "p"] < 0.05
    assert curve["reading"].to_list() == ["neither", "matters, does not attend"]


def test_a_share_must_be_positive(smollm2, batches):
    with pytest.raises(ValueError) as error:
        grafted(smollm2, batches[0], BYSTANDER, share=0.0)
    assert str(error.value) == "share must be positive, got 0.0; .05 is the usual threshold."
