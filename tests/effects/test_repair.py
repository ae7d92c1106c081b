"""Direct effects as contrasts, and what later parts make good: planted, and by identity."""

import pytest
import torch

from interp.effects import Resample, Scope, Zero
from interp.effects.places import by_position
from interp.effects.plain_loop import looped_logits
from interp.effects.repair import direct_effects, self_repair
from interp.heads import Head
from interp.models.direct import direct_logit_attribution


@pytest.fixture(scope="module")
def batch(tiny, items):
    (batch,) = tiny.encode(items)
    return batch


def grid(table, model):
    by_head = table.pivot(index="item_id", columns=["layer", "head"], values="direct")
    return by_head.to_numpy().reshape(len(by_head), model.n_layers, model.n_heads)


def test_the_contrast_with_nothing_is_the_attribution(tiny, batch):
    """o(r) = 0, so that what is left is the head's own part of the sum."""
    found = direct_effects(tiny, [batch], scope=Scope.QUERY, baseline=Zero())
    order = sorted(range(len(batch)), key=lambda row: batch.items[row].item_id)
    expected = direct_logit_attribution(tiny, batch).heads[order]
    assert grid(found, tiny) == pytest.approx(expected.numpy(), abs=1e-4)


def test_the_contrast_over_an_edge_is_part_of_that_at_the_query(planted):
    """A head that takes all from the source says over the edge what it says at the query."""
    model, batch = planted("decoys")
    at_query, over_edge = (
        direct_effects(model, [batch], scope=scope).query("layer == 0 and head == 0")["direct"]
        for scope in (Scope.QUERY, Scope.EDGE)
    )
    assert at_query.mean() == pytest.approx(2, abs=1e-3)
    assert over_edge.to_numpy() == pytest.approx(at_query.to_numpy(), abs=1e-3)


def test_a_head_of_the_last_layer_does_what_it_says_with_the_norm_frozen(tiny, batch):
    """With the MLP of that layer out of the way nothing is left to make good."""
    mlp = tiny.plain.module.model.layers[-1].mlp.down_proj.weight
    before = mlp.detach().clone()
    with torch.no_grad():
        mlp.zero_()
    try:
        found = self_repair(tiny, [batch]).query("layer == 3")
    finally:
        with torch.no_grad():
            mlp.copy_(before)
    assert found["total_frozen"].to_numpy() == pytest.approx(found["direct"].to_numpy(), abs=1e-4)
    by_norm = (found["total"] - found["total_frozen"]).abs().max()
    assert by_norm > 0.02 * found["total"].abs().max(), "and the norm does answer when it is free"


def test_a_backup_makes_all_of_it_good(planted):
    """By hand: the primary says 1, and without it the backup says as much."""
    model, batch = planted("backup")
    primary = self_repair(model, [batch], baseline=Zero()).set_index(["layer", "head"]).loc[(0, 0)]
    assert primary["direct"] == pytest.approx(1, abs=1e-3)
    assert primary["total"] == pytest.approx(0, abs=1e-3)
    assert primary["fraction"] == pytest.approx(1, abs=1e-3)


def test_what_a_norm_makes_good_is_gone_when_it_is_frozen(planted):
    """The weak head lengthens the stream: what its removal takes comes back through the norm."""
    model, batch = planted("norm-repair")
    weak = self_repair(model, [batch], baseline=Zero()).set_index(["layer", "head"]).loc[(0, 1)]
    assert weak["total"] == pytest.approx(0, abs=1e-3)
    assert weak["direct"] == pytest.approx(2.4 / 4, abs=1e-3)
    assert weak["repair_frozen"] == pytest.approx(0, abs=1e-3)


def test_a_chain_acts_position_by_position(planted):
    """Found at the pronoun, carried two words on, read at the query: one place for each head."""
    model, batch = planted("chain")
    last = int(batch.query[0])
    for layer, place in ((0, last - 3), (1, last - 2), (2, last - 1), (3, last)):
        found = by_position(model, [batch], Head(layer, 0))
        effect = (found["intact"] - found["edited"]).groupby(found["position"]).mean()
        assert effect.idxmax() == place
        assert effect.max() == pytest.approx(2, abs=1e-2)
        assert effect.drop(place).abs().max() < 1e-2


def test_one_position_equals_the_plain_loop(tiny, batch):
    from interp.effects import Positions

    found = by_position(tiny, [batch], Head(1, 2))
    place = batch.first_difference
    there = torch.arange(batch.ids.shape[1]).expand(batch.ids.shape) == place
    scope = Positions("there", lambda batch: there)
    logits = looped_logits(tiny, batch, [Head(1, 2)], scope, Resample())
    rows = torch.arange(len(batch))
    expected = logits[rows, batch.answer] - logits[rows, batch.foil]
    some = found[found["position"] == place].set_index("item_id")
    assert len(some)
    for row, item in enumerate(batch.items):
        if item.item_id in some.index:
            assert some.loc[item.item_id, "edited"] == pytest.approx(expected[row].item(), abs=1e-4)
