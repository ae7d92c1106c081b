"""Every head's effect, against routes that share nothing with the engine."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from interp.contrast import head_effects
from interp.effects import LOGIT_DIFFERENCE, TIERS, Metric, Resample, Scope, sweep, work
from interp.effects.check import check_against_loop
from interp.effects.plain_loop import looped_logits
from interp.heads import Head


@pytest.fixture(scope="module")
def batch(tiny, items):
    (batch,) = tiny.encode(items)
    return batch


@pytest.fixture(scope="module")
def effects(tiny, batch):
    return sweep(tiny, [batch])


def value(logits, batch):
    rows = torch.arange(len(batch))
    return (logits[rows, batch.answer] - logits[rows, batch.foil]).numpy()


def edited(effects, scope, head):
    rows = effects.query("scope == @scope and layer == @head.layer and head == @head.head")
    return rows["edited"].to_numpy()


@pytest.mark.parametrize("scope", TIERS)
def test_every_head_equals_the_plain_loop(tiny, batch, effects, scope):
    """One hooked forward a head, through TransformerLens, on the whole batch."""
    for head in tiny.heads:
        logits = looped_logits(tiny, batch, [head], scope, Resample())
        assert edited(effects, str(scope), head) == pytest.approx(
            value(logits, batch), abs=1e-5 * logits.abs().max().item()
        )


def test_every_head_everywhere_equals_a_whole_forward_of_the_plain_model(tiny, batch, effects):
    """No resuming, no stored keys: z exchanged between the two runs in one full forward."""
    for head in tiny.heads:

        def exchange(layer, name, tensor, head=head):
            if (layer, name) != (head.layer, "z"):
                return tensor
            changed = tensor.clone()
            changed[:, head.head] = tensor[batch.donor, head.head]
            return changed

        with torch.inference_mode(), tiny.plain.hooked(exchange):
            logits = tiny.plain(batch.ids).logits[:, -1]
        assert edited(effects, "everywhere", head) == pytest.approx(
            value(logits, batch), abs=1e-5 * logits.abs().max().item()
        )


def test_the_edge_equals_a_pattern_edit_where_values_are_the_same(tiny, items):
    """In the first layer values depend on the token alone, so the edge is a change of pattern.

    Its keys are nouns that the flip leaves in place; only the attention to them is exchanged.
    """
    (batch,) = tiny.encode(items)
    found = sweep(tiny, [batch], scopes=[Scope.EDGE], heads=[Head(0, 1)])
    edge = batch.edge[:, None, :]

    def exchange(layer, name, tensor):
        if (layer, name) != (0, "pattern"):
            return tensor
        changed = tensor.clone()
        last = tensor[:, 1, -1]
        changed[:, 1, -1] = torch.where(edge[:, 0], last[batch.donor], last)
        return changed

    with torch.inference_mode(), tiny.plain.hooked(exchange):
        logits = tiny.plain(batch.ids).logits[:, -1]
    assert found["edited"].to_numpy() == pytest.approx(value(logits, batch), abs=1e-4)


def test_intact_and_corrupt_are_those_of_forwards_without_edits(tiny, batch, effects):
    with torch.inference_mode():
        logits = tiny.bridge(batch.ids)[:, -1]
    one_head = effects.query("scope == 'query' and layer == 0 and head == 0")
    tolerance = 1e-5 * logits.abs().max().item()
    assert one_head["intact"].to_numpy() == pytest.approx(value(logits, batch), abs=tolerance)
    assert one_head["corrupt"].to_numpy() == pytest.approx(
        value(logits[batch.donor], batch), abs=tolerance
    )


@pytest.mark.parametrize("scope", TIERS)
def test_ablating_nothing_on_the_plain_loop_is_bit_identical(tiny, batch, scope):
    with torch.inference_mode():
        intact = tiny.bridge(batch.ids)[:, -1]
    assert torch.equal(looped_logits(tiny, batch, [], scope, Resample()), intact)


def test_resample_from_the_item_itself_changes_nothing(tiny, batch):
    own = replace(batch, donor=torch.arange(len(batch)))
    with pytest.raises(ValueError, match="removing every head of the model in turn changed no"):
        sweep(tiny, [replace(own, ids=batch.ids)], scopes=[Scope.QUERY])


def test_the_table_has_one_row_an_observation(tiny, batch, effects):
    assert len(effects) == len(tiny.heads) * len(batch) * 3
    keys = ["scope", "layer", "head", "item_id"]
    assert not effects.duplicated(keys).any()
    assert set(effects["baseline"]) == {"resample"}
    assert effects[["intact", "edited", "corrupt"]].notna().all(axis=None)


@pytest.mark.parametrize("rows_a_batch", [1, 7, 10_000])
def test_effects_do_not_depend_on_the_rows_a_batch(tiny, batch, effects, monkeypatch, rows_a_batch):
    monkeypatch.setattr("interp.effects.pieces.ROWS_A_BATCH", rows_a_batch)
    again = sweep(tiny, [batch])
    assert again["edited"].to_numpy() == pytest.approx(effects["edited"].to_numpy(), abs=1e-4)


def test_effects_do_not_depend_on_the_order_of_the_items(tiny, batch, effects):
    turned = sweep(tiny, [batch.reordered(torch.arange(len(batch)).flip(0))])
    keys = ["scope", "layer", "head", "item_id"]
    both = effects.merge(turned, on=keys)
    assert both["edited_x"].to_numpy() == pytest.approx(both["edited_y"].to_numpy(), abs=1e-4)


def test_some_heads_give_the_same_rows(tiny, batch, effects):
    some = sweep(tiny, [batch], scopes=[Scope.QUERY], heads=[Head(2, 3), Head(1, 0)])
    assert set(zip(some["layer"], some["head"], strict=True)) == {(1, 0), (2, 3)}
    assert edited(some, "query", Head(2, 3)) == pytest.approx(
        edited(effects, "query", Head(2, 3)), abs=1e-5
    )


def test_model_hooks_and_batch_are_as_before(tiny, batch):
    with torch.inference_mode():
        before = tiny.plain(batch.ids).logits
        ids = batch.ids.clone()
        sweep(tiny, [batch], heads=[Head(1, 1)])
        check_against_loop(tiny, batch)
        assert torch.equal(tiny.plain(batch.ids).logits, before)
    assert torch.equal(batch.ids, ids)
    modules = [*tiny.plain.module.modules(), *tiny.bridge.modules()]
    assert not any(module._forward_pre_hooks for module in tiny.plain.module.modules())
    assert not any(getattr(module, "fwd_hooks", None) for module in modules)


def probability(logits, answer, foil):
    """Someone's own metric."""
    return logits.softmax(-1)[torch.arange(len(logits)), answer]


def test_ones_own_metric_sees_the_whole_vocabulary(tiny, batch):
    found = sweep(tiny, [batch], metric=probability, scopes=[Scope.QUERY], heads=[Head(3, 2)])
    logits = looped_logits(tiny, batch, [Head(3, 2)], Scope.QUERY, Resample())
    expected = logits.softmax(-1)[torch.arange(len(batch)), batch.answer]
    assert set(found["metric"]) == {"probability"}
    assert found["edited"].to_numpy() == pytest.approx(expected.numpy(), abs=1e-6)


def test_wanted_columns_equal_the_whole_vocabulary(tiny, batch, effects):
    """The logit difference from two unembedded columns is that from all of them."""
    whole = Metric("logit_difference", LOGIT_DIFFERENCE.of, needs_vocabulary=True)
    found = sweep(tiny, [batch], metric=whole, scopes=[Scope.EDGE])
    assert found["edited"].to_numpy() == pytest.approx(
        effects.query("scope == 'edge'")["edited"].to_numpy(), abs=1e-4
    )


def test_a_metric_of_another_shape_is_refused(tiny, batch):
    with pytest.raises(ValueError) as error:
        sweep(tiny, [batch], metric=lambda logits, answer, foil: logits.mean())
    assert str(error.value) == (
        "the metric '<lambda>' gave (), expected one number for each of 16 rows, a tensor of "
        "shape (16,)."
    )


def test_a_metric_that_is_not_finite_is_refused(tiny, batch):
    def broken(logits, answer, foil):
        return logits[:, 0] * torch.nan

    with pytest.raises(ValueError, match="the metric 'broken' gave 16 values that are not finite"):
        sweep(tiny, [batch], metric=broken)


def test_a_model_in_which_no_head_acts_is_an_error_and_not_zero_effects(tiny_folder, items):
    from interp.models import load

    dead = load(str(tiny_folder))
    with torch.no_grad():
        for layer in dead.plain.module.model.layers:
            layer.self_attn.o_proj.weight.zero_()
    with pytest.raises(ValueError, match="removing every head of the model in turn changed no"):
        sweep(dead, dead.encode(items))


def test_an_edge_without_a_source_is_an_error_and_not_zero_effects(tiny, items):
    """People's own pairs may name no source; the other tiers are still measured."""
    bare = [replace(item, source=(), distractors=()) for item in items]
    with pytest.raises(ValueError) as error:
        sweep(tiny, tiny.encode(bare))
    assert str(error.value) == (
        "item p0.a names no source, so it has no edge to measure; name one, or ask for "
        "scopes=[Scope.EVERYWHERE, Scope.QUERY]."
    )
    found = sweep(tiny, tiny.encode(bare), scopes=[Scope.EVERYWHERE, Scope.QUERY])
    assert set(found["scope"]) == {"everywhere", "query"}


def test_the_check_reports_how_near_the_two_are(tiny, batch):
    check = check_against_loop(tiny, batch)
    assert check.heads == ["L0H0", "L2H1", "L3H2"]
    assert check.largest_difference <= 1e-5 * check.largest_logit


def test_hooks_of_ones_own_survive_and_are_named(tiny, batch):
    """The intact run is not intact then, and that is said; nothing is removed behind one's back."""
    seen = []
    tiny.bridge.add_hook("blocks.1.attn.hook_z", lambda z, hook: seen.append(z.shape))
    try:
        with pytest.warns(UserWarning, match="hooks are attached to the bridge at blocks.1.attn"):
            check_against_loop(tiny, batch, scopes=[Scope.QUERY])
        assert seen
        seen.clear()
        tiny.bridge(batch.ids)
        assert seen, "the hook is still there"
    finally:
        tiny.bridge.reset_hooks()


def test_the_check_catches_a_set_of_rows_that_is_not_closed(tiny, batch, monkeypatch):
    """Rows that see an edited one and are not computed again leave the intact run right."""
    whole = work._reached

    def only_the_last(marked, grown):
        return whole(marked, grown) & (grown.depth == marked.shape[1] - 1)

    monkeypatch.setattr("interp.effects.work._reached", only_the_last)
    with pytest.raises(ArithmeticError, match="the engine differs from the plain loop by"):
        check_against_loop(tiny, batch, scopes=[Scope.EVERYWHERE])


def test_head_effects_are_ratios_of_means():
    table = pd.DataFrame(
        {
            "scope": "query",
            "layer": [0, 0, 0, 0],
            "head": [0, 0, 1, 1],
            "intact": [2.0, 4.0, 2.0, 4.0],
            "edited": [1.0, 4.0, 5.0, 5.0],
            "corrupt": [-2.0, 0.0, -2.0, 0.0],
        }
    )
    found = head_effects(table)
    assert found["label"].tolist() == ["L0H1", "L0H0"]
    assert np.allclose(found["effect"], [-2.0, 0.5])
    assert np.allclose(found["share"], [-0.5, 0.125])
