"""From which keys an effect comes: planted, as a partition, and by the loop of the bridge."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from interp.effects import LOGIT_DIFFERENCE, Scope, sweep
from interp.effects.given import Given
from interp.effects.plain_loop import looped_logits
from interp.evidence import carried_content, where_from
from interp.evidence.sources import AT_QUERY
from interp.evidence.taking import taking
from interp.heads import Head
from interp.hooks import Edge, resample_edge


def parts(planted, name, head, *, everywhere=True):
    model, batch = planted(name)
    return where_from(model, [batch], [head], everywhere=everywhere).set_index("part")


@pytest.mark.parametrize(
    ("name", "head", "expected", "n_before"),
    [
        # at the query: source, distractor, other, rest; and everywhere: all, from the source
        ("decoys", Head(0, 0), [1, 1, 0, 0, 0, 1, 1], None),
        ("wrong-edge", Head(0, 0), [1, 0, 0, 1, 0, 1, 0], 0),
        ("diffuse", Head(0, 0), [1, 1, 0, 0, 0, 1, 1], None),
        ("relay", Head(0, 0), [0, 0, 0, 0, 0, 1, 1], None),
        ("relay", Head(1, 0), [1, 0, 0, 1, 0, 1, 0], 2),
        ("elsewhere", Head(0, 0), [0, 0, 0, 0, 0, 1, 1], None),
        ("elsewhere", Head(1, 0), [1, 0, 0, 1, 0, 1, 0], 3),
        ("query-modifier", Head(0, 0), [1, 0, 0, 1, 0, 1, 0], 3),
        ("agreement", Head(0, 0), [0, 0, 0, 0, 0, 1, 0], None),
        ("chain", Head(2, 0), [0, 0, 0, 0, 0, 1, 0], None),
        ("pointer", Head(0, 0), [1, 1, 0, 0, 0, 1, 1], None),
    ],
)
def test_an_effect_comes_from_where_it_is_known_to(planted, name, head, expected, n_before):
    """By hand, as shares of the gap: relays act elsewhere and take from the source there."""
    found = parts(planted, name, head)
    order = ["query", *AT_QUERY, "everywhere", "source, anywhere"]
    assert found.loc[order, "effect"].tolist() == pytest.approx(expected, abs=1e-3)
    if n_before is not None:
        assert found.loc["other", "n_before"] == n_before
        assert found.loc["other", "of_query"] == pytest.approx(1, abs=1e-3)
    assert found.drop("other")["n_before"].isna().all()
    if expected[0] == 0:
        assert found["of_query"].isna().all()


def test_another_source_is_told_from_the_source(planted):
    """The same head on items that name the next word as source, and the name as distractor."""
    model, batch = planted("diffuse")
    moved = replace(batch, source=batch.source.roll(1, dims=1), distractor=batch.source)
    found = where_from(model, [moved], [Head(0, 0)], everywhere=False).set_index("part")["effect"]
    assert found[["query", *AT_QUERY]].tolist() == pytest.approx([1, 0, 1, 0, 0], abs=1e-3)


def test_parts_at_the_query_leave_nothing_out(tiny, items):
    """All keys exchanged is the resample at the query; the source's part is that over the edge."""
    for batch in tiny.encode(items):
        heads = [Head(2, 1), Head(3, 2)]
        taken = taking(tiny.plain, batch, {2, 3}, everywhere=False)
        row_of = {item.item_id: row for row, item in enumerate(batch.items)}
        for keys, scope in (
            (torch.ones(len(batch), 1, 1, batch.ids.shape[1]), Scope.QUERY),
            (batch.edge[:, None, None].float(), Scope.EDGE),
        ):
            z = {layer: each.exchanged(keys) for layer, each in taken.items()}
            given = Given(name="some keys", row_of=row_of, z=z)
            found = sweep(tiny, [batch], scopes=[Scope.QUERY], heads=heads, baseline=given)
            expected = sweep(tiny, [batch], scopes=[scope], heads=heads)
            largest = float(expected["edited"].abs().max())
            assert found["edited"].to_numpy() == pytest.approx(
                expected["edited"].to_numpy(), abs=1e-5 * largest
            )


def test_parts_share_no_key_and_what_is_left_is_the_rest(planted):
    from interp.evidence.sources import _keys

    model, batch = planted("lookalikes")
    (taken,) = taking(model.plain, batch, {0}, everywhere=False).values()
    keys = _keys(batch, taken)
    total = sum(part.expand(-1, model.n_heads, -1, -1) for part in keys.values())
    assert torch.equal(total, torch.ones_like(total))
    assert (keys["other"].sum(-1) <= 1).all()


def test_what_is_given_equals_the_plain_loop(tiny, items):
    """Second route: the bridge; and its own hook for what comes over an edge, everywhere."""
    head = Head(1, 2)
    (batch,) = tiny.encode([item for item in items if item.template_id == "t"])
    row_of = {item.item_id: row for row, item in enumerate(batch.items)}
    source = batch.edge[:, None, None].float()
    taken = taking(tiny.plain, batch, {1}, everywhere=True)
    given = Given(name="source", row_of=row_of, z={1: taken[1].exchanged(source)})
    found = sweep(tiny, [batch], scopes=[Scope.EVERYWHERE], heads=[head], baseline=given)
    logits = looped_logits(tiny, batch, [head], Scope.EVERYWHERE, given)
    expected = LOGIT_DIFFERENCE(logits, batch.answer, batch.foil).numpy()
    tolerance = 1e-5 * float(np.abs(expected).max())
    assert found["edited"].to_numpy() == pytest.approx(expected, abs=tolerance)
    with torch.inference_mode():
        _, donor = tiny.bridge.run_with_cache(batch.ids[batch.donor])
        edge = Edge(query=torch.ones_like(batch.edge), source=batch.edge)
        hooks = resample_edge([head], edge, donor)
        whole = tiny.bridge.run_with_hooks(batch.ids, fwd_hooks=hooks)
    again = LOGIT_DIFFERENCE(
        whole[torch.arange(len(batch)), batch.query], batch.answer, batch.foil
    ).numpy()
    assert found["edited"].to_numpy() == pytest.approx(again, abs=tolerance)
    assert np.abs(found["intact"] - found["edited"]).max() > 100 * tolerance


def test_a_place_is_no_content(planted):
    """By hand: another name's place is the same place, 0; another name is as good as none, 1; a
    noun of the other number speaks for the foil, 2."""
    for name, head, expected in (
        ("pointer", Head(0, 0), 0),
        ("pointer", Head(1, 0), 1),
        ("decoys", Head(0, 0), 1),
        ("agreement", Head(1, 0), 2),
    ):
        model, batch = planted(name)
        found = carried_content(model, [batch], [head])
        assert found["content"].item() == pytest.approx(expected, abs=1e-3), name
    model, batch = planted("decoys")
    assert carried_content(model, [batch], [Head(0, 1)])["content"].isna().all()


def test_requests_that_cannot_be_met_are_refused(planted):
    model, batch = planted("decoys")
    with pytest.raises(ValueError) as error:
        where_from(model, [batch], [], everywhere=False)
    assert str(error.value) == "expected heads, each once, got []."
    with pytest.raises(ValueError) as error:
        carried_content(model, [batch.first(2)], [Head(0, 0)])
    assert str(error.value) == (
        "no other item of template coreference has its source where item coreference-0.a has it "
        "and another answer; give more items."
    )
    row_of = {item.item_id: row for row, item in enumerate(batch.items)}
    given = Given(name="of layer 1", row_of=row_of, z={1: torch.zeros(len(batch), 1, 6, 4)})
    with pytest.raises(ValueError) as error:
        sweep(model, [batch], scopes=[Scope.QUERY], heads=[Head(0, 0)], baseline=given)
    assert str(error.value) == (
        "'of layer 1' has outputs for layers [1], and a head of layer 0 is removed; give its "
        "layer's too."
    )
