"""A metric of words before the query: how much nearer a representation is to its source."""

import re
from dataclasses import replace

import pytest
import torch

from interp.asked import as_read
from interp.effects import Scope, sweep
from interp.effects.joint import joint
from interp.effects.metrics import LOGIT_DIFFERENCE, REPRESENTATION_MARGIN, STATE_SHIFT
from interp.heads import Head
from interp.measures.representation import representation_margins
from interp.models import load
from interp.tasks import build

HEADS = [Head(1, 3), Head(5, 7)]


@pytest.fixture(scope="module")
def minilm():
    return load("minilm-l6")


@pytest.fixture(scope="module")
def placed(minilm):
    return as_read(minilm, build("coreference", minilm.tokenizer, n_pairs=8, seed=0))


@pytest.fixture(scope="module")
def batches(minilm, placed):
    return minilm.encode(placed)


def _by_hand(model, batch, heads, places):
    """Margins with heads' z exchanged for the counterfactual's, in one hooked forward."""
    kept = {}

    def keep(layer, name, tensor):
        if name == "z":
            kept[layer] = tensor.clone()
        return tensor

    def exchange(layer, name, tensor):
        numbers = [head.head for head in heads if head.layer == layer]
        if name != "z" or not numbers:
            return tensor
        edited, theirs = tensor.clone(), kept[layer][batch.donor]
        where = places[:, None, :, None]
        edited[:, numbers] = torch.where(where, theirs[:, numbers], tensor[:, numbers])
        return edited

    with torch.inference_mode():
        for hook in (keep, exchange):
            with model.plain.hooked(hook):
                states = model.plain.last_block(batch.ids)
    found = []
    for row, of_item in enumerate(states):
        query = of_item[batch.query[row]]
        source, other = (
            of_item[places[row]].mean(0) for places in (batch.source, batch.distractor)
        )
        found.append(torch.cosine_similarity(torch.stack([source, other]), query))
    both = torch.stack(found)
    return both[:, 0] - both[:, 1]


@pytest.mark.parametrize("scope", [Scope.EVERYWHERE, Scope.QUERY])
def test_margins_without_a_head_are_those_of_a_hooked_forward(minilm, batches, scope):
    table = sweep(
        minilm, batches, scopes=[scope], heads=HEADS, metric=REPRESENTATION_MARGIN
    ).set_index(["layer", "head", "item_id"])
    for batch in batches:
        places = torch.ones_like(batch.source)
        if scope is Scope.QUERY:
            places = torch.arange(batch.ids.shape[1]) == batch.query[:, None]
        for head in HEADS:
            expected = _by_hand(minilm, batch, [head], places)
            rows = table.loc[[(head.layer, head.head, item.item_id) for item in batch.items]]
            assert rows["edited"].to_numpy() == pytest.approx(expected.numpy(), abs=2e-6)
    moved = (table["edited"] - table["intact"]).abs()
    assert (moved.groupby(["layer", "head"]).max() > 1e-4).all()  # far above what is allowed


def test_the_intact_run_and_the_counterfactual_have_the_margins_of_the_model(
    minilm, batches, placed
):
    table = sweep(minilm, batches, scopes=[Scope.QUERY], heads=HEADS, metric=REPRESENTATION_MARGIN)
    of_items = table.groupby("item_id")[["intact", "corrupt"]].first()
    here, there = representation_margins(minilm, placed)
    for item, clean, corrupt in zip(placed, here, there, strict=True):
        row = of_items.loc[item.item_id]
        assert row["intact"] == pytest.approx(clean.item(), abs=2e-6)
        assert row["corrupt"] == pytest.approx(corrupt.item(), abs=2e-6)


def test_words_are_read_beside_the_query_and_in_pieces(minilm, batches):
    batch = batches[0]
    whole, pieces = (
        sweep(
            minilm, [batch], scopes=[Scope.QUERY], heads=HEADS, memory=memory,
            metric=[REPRESENTATION_MARGIN, STATE_SHIFT],
        )
        for memory in (None, 8_000_000)
    )  # fmt: skip
    assert whole["edited"].to_numpy() == pytest.approx(pieces["edited"].to_numpy(), abs=1e-5)
    alone = sweep(minilm, [batch], scopes=[Scope.QUERY], heads=HEADS, metric=STATE_SHIFT)
    shifts = whole.loc[whole["metric"] == "state_shift", "edited"]
    assert shifts.to_numpy() == pytest.approx(alone["edited"].to_numpy(), abs=1e-5)


def test_all_heads_removed_together_are_measured_too(minilm, batches):
    table = joint(
        minilm, batches, {"none": [], "all": minilm.heads}, scope=Scope.EVERYWHERE,
        metric=REPRESENTATION_MARGIN,
    )  # fmt: skip
    by_set = table.set_index(["set", "item_id"])
    none = by_set.loc["none"]
    assert none["edited"].to_numpy() == pytest.approx(none["intact"].to_numpy(), abs=2e-6)
    for batch in batches:
        expected = _by_hand(minilm, batch, minilm.heads, torch.ones_like(batch.source))
        found = by_set.loc[[("all", item.item_id) for item in batch.items], "edited"]
        assert found.to_numpy() == pytest.approx(expected.numpy(), abs=2e-6)


def test_a_model_that_reads_one_way_is_refused(tiny, items):
    message = "'representation_margin' reads words before the query"
    with pytest.raises(ValueError, match=message):
        sweep(tiny, tiny.encode(items), metric=REPRESENTATION_MARGIN)


def test_an_item_without_a_distractor_is_named(minilm, placed):
    alone = [replace(item, distractors=()) for item in placed[:2]]
    message = re.escape(f'item "{placed[0].item_id}" names no source or no distractor')
    with pytest.raises(ValueError, match=message):
        sweep(minilm, minilm.encode(alone), metric=REPRESENTATION_MARGIN)


def test_each_kind_of_model_is_asked_in_its_way(minilm, tiny, items):
    from interp.asked import metric_of

    assert metric_of(minilm) is REPRESENTATION_MARGIN
    assert metric_of(tiny) is LOGIT_DIFFERENCE
    assert as_read(tiny, items) == items
    read = as_read(minilm, items)
    assert all(item.query is not None for item in read)
    assert as_read(minilm, read) == read
