"""Screening: the gradient by finite differences, and what is claimed of what was not measured."""

import numpy as np
import pytest
import torch

from interp.effects import KL_DIVERGENCE, LOGIT_DIFFERENCE, Resample, Scope, Zero, sweep
from interp.effects.attribution import attribute, mean_attribution
from interp.effects.screening import _recall, screened


@pytest.fixture(scope="module")
def batch(tiny, items):
    (batch,) = tiny.encode(items)
    return batch


@pytest.mark.parametrize("scope", [Scope.EVERYWHERE, Scope.QUERY, Scope.EDGE])
def test_the_estimate_is_the_slope_of_the_exact_effect(tiny, batch, scope):
    """A small step towards the donor's z, in whole forwards, for one head a layer."""
    found = attribute(tiny, batch, scope, Resample(), LOGIT_DIFFERENCE)
    kept = {}

    def keep(layer, name, tensor):
        kept[layer, name] = tensor
        return tensor

    with torch.inference_mode(), tiny.plain.hooked(keep):
        tiny.plain.last_block(batch.ids)
    rows, step = torch.arange(len(batch)), 1e-2
    for layer, head in ((0, 1), (1, 3), (3, 0)):
        z = kept[layer, "z"]
        change = z - z[batch.donor]
        if scope is not Scope.EVERYWHERE:
            change = torch.where((torch.arange(6) == 5)[:, None], change, 0.0)
        if scope is Scope.EDGE:
            value = kept[layer, "value"].repeat_interleave(2, dim=1)
            taken = (kept[layer, "pattern"] * batch.edge[:, None, None]) @ value
            change = torch.where((torch.arange(6) == 5)[:, None], taken - taken[batch.donor], 0.0)

        def moved(by, layer=layer, head=head, change=change):
            def edit(here, name, tensor):
                chosen = (torch.arange(4) == head)[:, None, None]
                is_here = here == layer and name == "z"
                return torch.where(chosen, tensor - by * change, tensor) if is_here else tensor

            with torch.inference_mode(), tiny.plain.hooked(edit):
                logits = tiny.plain(batch.ids).logits[:, -1].double()
            return logits[rows, batch.answer] - logits[rows, batch.foil]

        slope = (moved(-step) - moved(step)) / (2 * step)
        assert found[:, layer, head].numpy() == pytest.approx(
            slope.numpy(), abs=2e-2 * slope.abs().max().item() + 1e-3
        )


@pytest.mark.parametrize("scope", [Scope.EVERYWHERE, Scope.QUERY, Scope.EDGE])
@pytest.mark.parametrize("baseline", [Resample(), Zero()], ids=["resample", "zero"])
def test_the_mean_over_shared_rows_is_that_of_each_item_by_itself(tiny, batch, scope, baseline):
    one_by_one = attribute(tiny, batch, scope, baseline, LOGIT_DIFFERENCE).mean(0)
    shared = mean_attribution(tiny, batch, scope, baseline, LOGIT_DIFFERENCE)
    assert one_by_one.abs().max() > 1e-3
    torch.testing.assert_close(shared, one_by_one, rtol=1e-4, atol=1e-6)


def test_where_the_model_is_linear_the_estimate_is_exact(planted):
    """In a head that writes to the logits and nothing else, to first order is all there is."""
    model, batch = planted("diffuse")
    estimate = attribute(model, batch, Scope.QUERY, Zero(), LOGIT_DIFFERENCE)[:, 0, 0]
    exact = sweep(model, [batch], scopes=[Scope.QUERY], baseline=Zero(), heads=[model.heads[0]])
    assert estimate.numpy() == pytest.approx(
        (exact["intact"] - exact["edited"]).to_numpy(), abs=2e-3
    )


def test_nothing_screened_out_is_reported(tiny, batch):
    found = screened(tiny, [batch], screen=0.25, sample=0.25, k=3)
    whole = sweep(tiny, [batch], scopes=[Scope.EVERYWHERE])
    is_measured = found.heads["measured"] != "no"
    assert is_measured.sum() == 8
    reported = set(zip(found.effects["layer"], found.effects["head"], strict=True))
    assert reported == set(
        zip(found.heads["layer"][is_measured], found.heads["head"][is_measured], strict=True)
    )
    both = found.effects.merge(whole, on=["layer", "head", "item_id"], suffixes=("", "_whole"))
    assert both["edited"].to_numpy() == pytest.approx(both["edited_whole"].to_numpy(), abs=1e-4)
    assert "8 of 16 heads measured exactly, the others screened out and not measured" in str(found)
    assert "rank agreement of the screen with exact effects" in str(found)


def test_recall_by_hand():
    """One of four random heads is among the leading three, and eight heads were not looked at."""
    chosen = np.array(["top"] * 4 + ["random"] * 4 + ["no"] * 8, dtype=object)
    exact = np.array([9.0, 8.0, 1.0, 1.0, 7.0, 0.0, 0.0, 0.0])
    recall, low, high = _recall(exact, chosen, 3)
    assert recall == pytest.approx(3 / (3 + 8 / 4))
    # Clopper-Pearson for 1 of 4, from a published table: .0063 to .8059
    assert low == pytest.approx(3 / (3 + 8 * 0.8059), abs=1e-4)
    assert high == pytest.approx(3 / (3 + 8 * 0.0063), abs=1e-3)
    assert _recall(exact[:4], chosen[:4], 3) == (1.0, 1.0, 1.0)


def test_requests_that_say_nothing_are_refused(tiny, batch):
    with pytest.raises(ValueError) as error:
        screened(tiny, [batch], metric=KL_DIVERGENCE)
    assert str(error.value) == (
        "'kl_divergence' compares with the intact run, where its gradient is 0, so that it says "
        "nothing; screen by LOGIT_DIFFERENCE."
    )
    with pytest.raises(ValueError) as error:
        screened(tiny, [batch], screen=0.1, sample=0.1)
    assert str(error.value) == (
        "4 heads would be measured, fewer than the 20 that recall speaks of; raise screen, or "
        "lower k."
    )
