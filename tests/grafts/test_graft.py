"""Grafts in a model whose every number can be worked out by hand: one layer, no norm, no MLP."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from interp.effects import Resample, Scope
from interp.effects.plain_loop import Looped
from interp.grafts import effect_share, grafts, moves, parts, written
from interp.heads import Head
from interp.models.record import record

HOST, DEAF = Head(0, 4), Head(0, 3)


@pytest.fixture(scope="module")
def crowd(plant):
    return plant("crowd")


@pytest.fixture(scope="module")
def moved(crowd):
    model, batch = crowd
    return moves(model, [batch])


@pytest.fixture(scope="module")
def planted(crowd, moved):
    model, batch = crowd
    return grafts(model, moved, [batch], HOST, [0.05, 0.1])


def by_hand(model, batch):
    """What exchanging the host's z at the query moves the logit difference by, from the weights."""
    rows = torch.arange(len(batch))
    z = record(model.plain, batch).z[0][rows, HOST.head, batch.query]
    unembedding = model.plain.module.get_output_embeddings().weight
    reads = unembedding[batch.answer] - unembedding[batch.foil]
    change = ((z - z[batch.donor]) @ written(model, HOST) * reads).sum(1)
    logits = record(model.plain, batch).logits
    difference = logits[rows, batch.answer] - logits[rows, batch.foil]
    corrupt = logits[batch.donor, batch.answer] - logits[batch.donor, batch.foil]
    return (change.mean() / (difference - corrupt).mean()).item()


def test_a_graft_gives_the_share_that_was_asked_for(crowd, planted):
    """By the engine, from the weights by hand, and by TransformerLens's hooks."""
    model, batch = crowd
    assert by_hand(model, batch) == pytest.approx(0, abs=0.01)
    assert list(planted) == [0.1, 0.05]
    for share, graft in planted.items():
        assert by_hand(graft, batch) == pytest.approx(share, rel=0.021)
        assert effect_share(graft, [batch], HOST) == pytest.approx(by_hand(graft, batch), rel=1e-3)
        loop = Looped(graft, batch, Scope.QUERY, Resample(), [0])
        rows = torch.arange(len(batch))
        edited, intact = (
            logits[rows, batch.answer] - logits[rows, batch.foil]
            for logits in (loop.logits([HOST]), loop.logits([]))
        )
        gap = (intact + intact[batch.donor]).mean()  # a pair's donor has answer and foil exchanged
        looped = ((intact - edited).mean() / gap).item()
        assert looped == pytest.approx(by_hand(graft, batch), rel=1e-3)


def test_the_added_contribution_is_gone_when_the_old_slice_is_put_back(crowd, planted):
    """At the query of the grafted model, the head's z times the difference of the two slices."""
    model, batch = crowd
    graft, rows = planted[0.1], torch.arange(len(batch))
    before, after = (record(each.plain, batch) for each in (model, graft))
    z = before.z[0][rows, HOST.head, batch.query]
    unembedding = model.plain.module.get_output_embeddings().weight
    added = z @ (written(graft, HOST) - written(model, HOST)) @ unembedding.T
    torch.testing.assert_close(after.logits - before.logits, added, atol=2e-5, rtol=0)
    assert added.abs().max() > 0.05


def test_only_the_hosts_slice_is_another(crowd, planted):
    model, _ = crowd
    for head in model.heads:
        same = torch.equal(written(model, head), written(planted[0.1], head))
        assert same == (head != HOST)


def test_no_label_is_in_it(crowd, moved):
    """With answers and foils exchanged the very same is added."""
    model, batch = crowd
    exchanged = replace(batch, answer=batch.foil, foil=batch.answer)
    again = moves(model, [exchanged])
    torch.testing.assert_close(again.told_by(HOST), moved.told_by(HOST))
    assert torch.equal(again.told_by(HOST), moved.told_by(HOST))


def test_what_is_said_tells_candidates_apart_and_moves_as_the_residual_does(crowd, moved):
    """No norm: the gradient of a logit difference is a difference of unembeddings."""
    model, batch = crowd
    unembedding = model.plain.module.get_output_embeddings().weight
    reads = (unembedding[batch.answer] - unembedding[batch.foil]).double().numpy()
    said = moved.said.double().numpy()
    assert np.linalg.norm(said) == pytest.approx(1)
    assert np.linalg.norm(reads @ said) == pytest.approx(np.linalg.norm(reads, 2))
    final = record(model.plain, batch).final.double().numpy()
    first = [row for row, donor in enumerate(batch.donor.tolist()) if row < donor]
    expected = (final[first] - final[batch.donor[first].numpy()]) @ said
    np.testing.assert_allclose(moved.residual, expected, atol=1e-6)
    assert moved.frames[:2].tolist() == ["one:john", "one:peter"]


def test_a_head_that_cannot_tell_is_refused(crowd, moved):
    model, batch = crowd
    with pytest.raises(ValueError) as error:
        grafts(model, moved, [batch], DEAF, [0.1])
    assert str(error.value) == (
        "the output of L0H3 at the query foretells -0.05 (R²) of how the last residual differs "
        "between the two sides of a pair, expected 0.5 or more; choose a head that reads where the "
        "difference is."
    )


def test_a_share_must_be_positive(crowd, moved):
    model, batch = crowd
    with pytest.raises(ValueError) as error:
        grafts(model, moved, [batch], HOST, [0.0, 0.1])
    assert str(error.value) == (
        "shares must be positive, got 0.0; the model as it is has the share 0."
    )


def test_parts_share_no_pair_and_leave_none_out(crowd):
    model, batch = crowd
    each = parts(model, batch.items, n_fitted=6, n_heard=4, n_tested=3)

    def ids(batches):
        return [item.item_id for part in batches for item in part.items]

    every = [each.fitted, each.heard, *each.tested]
    assert [len(ids(part)) for part in every] == [12, 8, 6, 6]
    assert [name for part in every for name in ids(part)] == [item.item_id for item in batch.items]
    with pytest.raises(ValueError) as error:
        parts(model, batch.items, n_fitted=6, n_heard=4, n_tested=4)
    assert str(error.value) == (
        "expected 6 + 4 pairs and one or more times 4, got 16; a multiple of 4 must be left to "
        "test on."
    )
