"""Every head of every family, at every scope, against one whole forward a head."""

import pytest
import torch

from interp.effects import (
    LOGIT_DIFFERENCE,
    Positions,
    Renormalised,
    Resample,
    ResampleRandom,
    Scope,
    Zero,
    mean_over,
)
from interp.effects.attribution import attribute, mean_attribution
from interp.effects.check import ablated_logits
from tests.effects.whole_forwards import intact, model_of, small_batch, without
from tests.models.conftest import RUNNING, each, plain_of

WITH_LOGITS = [variant for variant in RUNNING if variant.kind in ("causal", "masked")]
MIDDLE = Positions("middle", lambda batch: torch.arange(12).expand(8, 12) == 5)
CASES = [
    (Scope.EVERYWHERE, Resample()),
    (Scope.QUERY, Resample()),
    (Scope.EDGE, Resample()),
    (Scope.EDGE, Renormalised()),
]
FURTHER_CASES = [
    (Scope.DISTRACTOR_EDGE, Resample()),
    (Scope.DISTRACTOR_EDGE, Renormalised()),
    (Scope.EVERYWHERE, Zero()),
    (Scope.SOURCE, Zero()),
    (MIDDLE, Resample()),
    (Scope.QUERY, ResampleRandom(seed=0)),
    (Scope.EDGE, ResampleRandom(seed=0)),
    (Scope.EDGE, Zero()),
]
SOME = ["gpt2", "bloom", "llama, grouped", "gemma2, windows", "gpt_oss", "bert"]


@pytest.fixture(scope="module")
def batch():
    return small_batch()


def compare(model, batch, scope, baseline):
    seen = intact(model.plain, batch)
    found = ablated_logits(model, batch, model.heads, scope, baseline)
    for head, logits in zip(model.heads, found, strict=True):
        expected = without(model.plain, batch, seen, [head], scope, baseline)
        largest = expected.abs().max().item()
        torch.testing.assert_close(logits, expected, atol=1e-5 * largest, rtol=0)


@each(WITH_LOGITS)
@pytest.mark.parametrize(("scope", "baseline"), CASES, ids=lambda value: str(value).split("(")[0])
def test_every_head_equals_a_whole_forward(name, scope, baseline, batch):
    compare(model_of(plain_of(name)), batch, scope, baseline)


@pytest.mark.parametrize("name", SOME)
@pytest.mark.parametrize(
    ("scope", "baseline"), FURTHER_CASES, ids=lambda value: str(value).split("(")[0]
)
def test_every_head_at_every_other_scope_and_baseline(name, scope, baseline, batch):
    compare(model_of(plain_of(name)), batch, scope, baseline)


@pytest.mark.parametrize("name", ["llama, grouped", "gemma2, windows", "bert"])
@pytest.mark.parametrize("scope", [Scope.EVERYWHERE, Scope.QUERY])
def test_a_mean_equals_a_whole_forward(name, scope, batch):
    model = model_of(plain_of(name))
    reference = batch.reordered(torch.tensor([4, 5, 6, 7]))
    baseline = mean_over(model, [reference], name="others")
    compare(model, batch.reordered(torch.tensor([0, 1, 2, 3])), scope, baseline)


@pytest.mark.parametrize("name", [name for name in SOME if name != "bert"])
@pytest.mark.parametrize("scope", [Scope.EVERYWHERE, Scope.QUERY, Scope.EDGE])
def test_attribution_over_shared_rows_is_that_of_each_item_by_itself(name, scope, batch):
    model = model_of(plain_of(name))
    baselines = [Resample()] if scope is Scope.EDGE else [Resample(), ResampleRandom(seed=0)]
    for baseline in baselines:
        one_by_one = attribute(model, batch, scope, baseline, LOGIT_DIFFERENCE).mean(0)
        shared = mean_attribution(model, batch, scope, baseline, LOGIT_DIFFERENCE)
        largest = one_by_one.abs().max().item()
        assert largest > 0
        torch.testing.assert_close(shared, one_by_one, atol=1e-4 * largest, rtol=0)


def test_an_edge_is_not_attributed_where_the_giver_is_read_elsewhere(batch):
    """Items of one template are read at three positions here, and the engine itself minds not."""
    model = model_of(plain_of("llama, grouped"))
    baseline = ResampleRandom(seed=0)
    with pytest.raises(ValueError, match="^item i. and the one that gives to it are read at"):
        attribute(model, batch, Scope.EDGE, baseline, LOGIT_DIFFERENCE)
    assert mean_attribution(model, batch, Scope.EDGE, baseline, LOGIT_DIFFERENCE).abs().max() > 0
