"""What is put in, where, and what is measured: names, identities and refusals."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from interp.effects import (
    ANSWER_LOG_PROBABILITY,
    ANSWER_LOGIT,
    KL_DIVERGENCE,
    LOGIT_DIFFERENCE,
    STATE_SHIFT,
    Positions,
    Renormalised,
    Resample,
    ResampleRandom,
    Scope,
    Zero,
    mean_by_position,
    mean_over,
    sweep,
)
from interp.effects.check import check_against_loop
from interp.effects.plain_loop import looped_logits
from interp.heads import Head
from interp.models.record import record

KEYS = ["scope", "metric", "layer", "head", "item_id"]


@pytest.fixture(scope="module")
def batch(tiny, items):
    (batch,) = tiny.encode(items)
    return batch


@pytest.fixture(scope="module")
def halves(batch):
    """Items under test, and a reference set of other texts."""
    return batch.reordered(torch.arange(8)), batch.reordered(torch.arange(8, 12))


@pytest.mark.parametrize(
    ("scope", "baseline"),
    [
        (Scope.EVERYWHERE, Zero()),
        (Scope.SOURCE, Zero()),
        (Scope.EVERYWHERE, ResampleRandom(seed=1)),
        (Scope.EDGE, Zero()),
        (Scope.EDGE, Renormalised()),
        (Scope.DISTRACTOR_EDGE, Resample()),
        (Scope.DISTRACTOR_EDGE, Renormalised()),
    ],
)
def test_the_check_covers_every_scope_and_baseline(tiny, batch, scope, baseline):
    """Every head against TransformerLens's plain loop."""
    check = check_against_loop(
        tiny, batch, heads=tiny.heads, scopes=[scope], baseline=baseline, n_items=16
    )
    assert check.route == "forest, active rows only"
    assert check.baseline == baseline.name


@pytest.mark.parametrize("fit", [mean_over, mean_by_position])
def test_a_mean_is_that_of_its_reference_set_and_names_it(tiny, halves, fit):
    """Second route: the mean over a recorded run; and the plain loop."""
    some, reference = halves
    reference = reference.reordered(torch.tensor([0, 1, 2, 3]))
    reference = replace(
        reference, items=tuple(replace(item, template_id="t") for item in reference.items)
    )
    baseline = fit(tiny, [reference], name="four others")
    z = record(tiny.plain, reference, keep=("z",)).z[2]
    if fit is mean_over:
        expected = z.transpose(1, 2)[~reference.special].mean(0)
        assert torch.allclose(baseline.z[2], expected, atol=1e-5)
    else:
        assert torch.allclose(baseline.z[2], z.mean(0).transpose(0, 1), atol=1e-5)
        some = replace(some, items=tuple(replace(i, template_id="t") for i in some.items))
    found = sweep(tiny, [some], scopes=[Scope.QUERY], baseline=baseline, heads=[Head(2, 1)])
    assert found["baseline"].unique().tolist() == [baseline.name]
    assert "four others" in baseline.name
    logits = looped_logits(tiny, some, [Head(2, 1)], Scope.QUERY, baseline)
    expected = LOGIT_DIFFERENCE(logits, some.answer, some.foil).numpy()
    assert found["edited"].to_numpy() == pytest.approx(expected, abs=1e-4)


def test_a_reference_set_must_be_disjoint(tiny, halves):
    some, reference = halves
    baseline = mean_over(tiny, [some], name="the items themselves")
    with pytest.raises(ValueError) as error:
        sweep(tiny, [reference, some], scopes=[Scope.QUERY], baseline=baseline)
    assert str(error.value) == (
        "item p0.a is in the reference set of 'mean over the items themselves'; a reference set "
        "must be disjoint from the items under test."
    )


def test_resample_from_itself_is_nothing(tiny, batch):
    """Beside an item that has a donor, so that the sweep as a whole does act."""
    donor = batch.donor.clone()
    donor[0] = 0
    found = sweep(tiny, [replace(batch, donor=donor)], scopes=[Scope.EVERYWHERE, Scope.QUERY])
    own = found[found["item_id"] == batch.items[0].item_id]
    others = found[found["item_id"] != batch.items[0].item_id]
    assert (own["intact"] - own["edited"]).abs().max() < 1e-5 * found["intact"].abs().max()
    assert (others["intact"] - others["edited"]).abs().max() > 1e-2


def test_random_donors_do_not_depend_on_the_order(tiny, batch):
    baseline = ResampleRandom(seed=3)
    order = torch.randperm(len(batch), generator=torch.Generator().manual_seed(0))
    turned = batch.reordered(order)
    one, other = baseline.donors(batch), baseline.donors(turned)
    gives = {batch.items[row].item_id: batch.items[one[row]].item_id for row in range(len(batch))}
    for row, item in enumerate(turned.items):
        assert gives[item.item_id] == turned.items[other[row]].item_id
        assert turned.items[other[row]].template_id == item.template_id
        assert not torch.equal(turned.ids[other[row]], turned.ids[row])


def test_two_operations_on_an_edge_have_two_names_and_differ(tiny, batch):
    """Case: removing attention to a key, zeroed or renormalised."""
    zeroed, closed = (
        sweep(tiny, [batch], scopes=[Scope.EDGE], baseline=baseline)
        for baseline in (Zero(), Renormalised())
    )
    assert zeroed["intervention"].unique().tolist() == ["zero_edge"]
    assert closed["intervention"].unique().tolist() == ["close_edge"]
    assert (zeroed["edited"] - closed["edited"]).abs().max() > 1e-2


def test_several_metrics_from_one_sweep_are_those_of_one_each(tiny, batch):
    def probability(logits, answer, foil):
        return logits.softmax(-1).gather(1, answer[:, None])[:, 0]

    metrics = [LOGIT_DIFFERENCE, ANSWER_LOGIT, ANSWER_LOG_PROBABILITY, KL_DIVERGENCE, probability]
    together = sweep(tiny, [batch], scopes=[Scope.QUERY], metric=[*metrics, STATE_SHIFT])
    assert len(together) == 6 * len(tiny.heads) * len(batch)
    for metric in metrics:
        alone = sweep(tiny, [batch], scopes=[Scope.QUERY], metric=metric)
        both = together.merge(alone, on=KEYS, suffixes=("", "_alone"))
        assert len(both) == len(alone)
        for column in ("intact", "edited", "corrupt"):
            assert both[column].to_numpy() == pytest.approx(
                both[f"{column}_alone"].to_numpy(), abs=1e-4
            )


def test_metrics_of_the_vocabulary_by_a_second_route(tiny, batch):
    head = Head(3, 2)
    found = sweep(
        tiny, [batch], scopes=[Scope.QUERY], heads=[head],
        metric=[KL_DIVERGENCE, ANSWER_LOG_PROBABILITY],
    )  # fmt: skip
    logits = looped_logits(tiny, batch, [head], Scope.QUERY, Resample()).double()
    intact = looped_logits(tiny, batch, [], Scope.QUERY, Resample()).double()
    divergence = torch.nn.functional.kl_div(
        logits.log_softmax(-1), intact.log_softmax(-1), log_target=True, reduction="none"
    ).sum(-1)
    by_metric = found.set_index("metric")
    assert by_metric.loc["kl_divergence", "edited"].to_numpy() == pytest.approx(
        divergence.numpy(), abs=1e-4
    )
    assert by_metric.loc["kl_divergence", "intact"].abs().max() < 1e-5
    expected = logits.log_softmax(-1)[torch.arange(len(batch)), batch.answer]
    assert by_metric.loc["answer_log_probability", "edited"].to_numpy() == pytest.approx(
        expected.numpy(), abs=1e-4
    )


@pytest.mark.parametrize("megabytes", [0.3, 1.0])
def test_effects_do_not_depend_on_the_memory_budget(tiny, batch, megabytes):
    whole = sweep(tiny, [batch])
    cut = sweep(tiny, [batch], memory=int(megabytes * 1e6))
    assert cut.drop(columns=["intact", "edited", "corrupt"]).equals(
        whole.drop(columns=["intact", "edited", "corrupt"])
    )
    largest = whole["intact"].abs().max()
    assert np.abs(cut["edited"] - whole["edited"]).max() <= 1e-5 * largest


def test_a_budget_that_holds_no_item_says_what_is_needed(tiny, batch):
    with pytest.raises(ValueError, match=r"needs \d+ MB and the budget is 0 MB; give more memory"):
        sweep(tiny, [batch], memory=10_000)
    with pytest.raises(ValueError, match="memory must be a positive number of bytes, got 0."):
        sweep(tiny, [batch], memory=0)


def test_sharing_rows_or_not_gives_the_same(tiny, batch, monkeypatch):
    """Forest and active rows off: whole items, layer by layer."""
    from interp.models.routes import Route

    shared = sweep(tiny, [batch])
    for module in ("measuring", "parts", "pieces", "engine", "check"):
        monkeypatch.setattr(
            f"interp.effects.{module}.route",
            lambda plain: Route(shares_prefixes=False, by_layers=True, reason="switched off"),
        )
    apart = sweep(tiny, [batch])
    assert apart["edited"].to_numpy() == pytest.approx(shared["edited"].to_numpy(), abs=1e-4)


def test_the_plain_loop_is_what_is_left(tiny, batch, monkeypatch):
    """Where no layer can be run by itself, one forward a head through TransformerLens."""
    from interp.models.routes import Route

    by_engine = sweep(tiny, [batch], scopes=[Scope.EDGE], metric=[LOGIT_DIFFERENCE, KL_DIVERGENCE])
    monkeypatch.setattr(
        "interp.effects.parts.route",
        lambda plain: Route(shares_prefixes=False, by_layers=False, reason="switched off"),
    )
    looped = sweep(tiny, [batch], scopes=[Scope.EDGE], metric=[LOGIT_DIFFERENCE, KL_DIVERGENCE])
    for column in ("intact", "edited", "corrupt"):
        assert looped[column].to_numpy() == pytest.approx(by_engine[column].to_numpy(), abs=1e-4)


def test_edits_that_change_nothing_are_refused(tiny, batch):
    """The special tokens stand before the word that is flipped: there both runs are the same."""
    with pytest.raises(ValueError) as error:
        sweep(tiny, [batch], scopes=[Positions("start", lambda b: (b.ids >= 0) & (b.special))])
    assert str(error.value) == (
        "on item p0.a nothing would change: at no position of 'start' up to its query is "
        "'resample' another value than the head's own; leave the item out, or choose another "
        "scope or baseline."
    )


@pytest.mark.parametrize(
    ("scope", "baseline", "sentence"),
    [
        (
            Scope.QUERY,
            Renormalised(),
            "only an edge can be closed and the rest renormalised, got the scope 'query'; use "
            "Scope.EDGE or Scope.DISTRACTOR_EDGE.",
        ),
        (
            "edges",
            Zero(),
            "there is no scope 'edges'; there are everywhere, query, edge, source, "
            "distractor_edge.",
        ),
        (
            Positions("nowhere", lambda batch: torch.zeros_like(batch.source)),
            Zero(),
            "item p0.a has no position in the scope 'nowhere', so nothing would be edited; leave "
            "the item or the scope out.",
        ),
        (
            Positions("odd", lambda batch: batch.query),
            Zero(),
            "the positions 'odd' must be a boolean tensor of shape (16, 6), got torch.int64 of "
            "shape (16,).",
        ),
    ],
)
def test_choices_that_do_not_fit_are_refused(tiny, batch, scope, baseline, sentence):
    with pytest.raises(ValueError) as error:
        sweep(tiny, [batch], scopes=[scope], baseline=baseline)
    assert str(error.value) == sentence


def test_the_plain_loop_puts_nothing_in_that_it_does_not_know(planted):
    """A baseline of one's own must not pass for zero."""

    class Own:
        name = "my own"
        donors, labels, table = Zero.donors, Zero.labels, Zero.table

    model, batch = planted("induction")
    with pytest.raises(ValueError) as error:
        looped_logits(model, batch, [Head(1, 0)], Scope.QUERY, Own())
    assert str(error.value) == (
        "the plain loop does not know what 'my own' puts in; give one of the baselines of "
        "interp.effects."
    )
