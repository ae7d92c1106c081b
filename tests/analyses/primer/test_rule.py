"""Verdicts follow from rules and figures alone."""

from math import inf, nan

import numpy as np
import pytest
from scipy import stats

from analyses.primer.claims import CLAIMS
from analyses.primer.rule import Answer, Ask, Estimate, Rule, Verdict

RULE = Rule(
    (
        Ask(name="one", what="first", at_least=1.0),
        Ask(name="two", what="second", at_least=0.0, at_most=1.0),
        Ask(name="limit", what="third", at_most=2.0, is_core=False),
    )
)
GOOD = {"one": Estimate(2, 1.5, 2.5), "two": Estimate(0.5, 0.4, 0.6), "limit": Estimate.exact(0)}
OPEN, BAD = Estimate(1.0, 0.5, 1.5), Estimate(0.5, 0.2, 0.8)


def test_an_answer_is_that_of_the_whole_interval():
    ask = RULE.asks[0]
    assert ask.answer(Estimate(1.2, 1.0, 1.4)) is Answer.MET
    assert ask.answer(OPEN) is Answer.OPEN
    assert ask.answer(BAD) is Answer.NOT_MET
    assert ask.answer(Estimate(nan, nan, nan)) is Answer.OPEN


@pytest.mark.parametrize(
    ("changed", "verdict"),
    [
        ({}, Verdict.HOLDS),
        ({"limit": Estimate(3, 2.5, 3.5)}, Verdict.WITHIN_LIMITS),
        ({"limit": Estimate(2, 1.5, 3.5)}, Verdict.WITHIN_LIMITS),
        ({"one": OPEN}, Verdict.WITHIN_LIMITS),
        ({"one": BAD}, Verdict.DOES_NOT_HOLD),
        ({"one": OPEN, "two": Estimate(1, 0.5, 1.5)}, Verdict.DOES_NOT_HOLD),
    ],
)
def test_the_verdict_follows_from_the_answers(changed, verdict):
    assert RULE.verdict(GOOD | changed) is verdict


def test_a_figure_that_is_missing_or_not_asked_for_is_an_error():
    with pytest.raises(ValueError) as error:
        RULE.verdict({"one": OPEN, "two": OPEN})
    assert str(error.value) == (
        "the rule asks for limit, one, two, and the figures are one, two; measure what is asked, "
        "no less and no more."
    )
    with pytest.raises(ValueError):
        RULE.verdict(GOOD | {"another": OPEN})


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)
def test_every_claim_can_hold_hold_within_limits_and_not_hold(claim):
    """Its rule is fed with figures of either kind; none of them is measured."""
    good = {ask.name: Estimate.exact(_inside(ask)) for ask in claim.rule.asks}
    assert claim.rule.verdict(good) is Verdict.HOLDS
    for ask in claim.rule.asks:
        wrong = good | {ask.name: Estimate.exact(_outside(ask))}
        expected = Verdict.DOES_NOT_HOLD if ask.is_core else Verdict.WITHIN_LIMITS
        assert claim.rule.verdict(wrong) is expected, ask.name
    assert [claim.number for claim in CLAIMS] == list(range(1, 8))


def _inside(ask):
    bounds = [bound for bound in (ask.at_least, ask.at_most) if abs(bound) < inf]
    return sum(bounds) / len(bounds)


def _outside(ask):
    return ask.at_least - 1 if abs(ask.at_least) < inf else ask.at_most + 1


def test_intervals_are_those_of_the_textbook():
    values = np.array([1.0, 2.0, 4.0, 5.0])
    half = stats.t.ppf(0.975, 3) * values.std(ddof=1) / 2
    found = Estimate.mean(values)
    assert (found.value, found.low, found.high) == pytest.approx((3, 3 - half, 3 + half))
    wilson = stats.binomtest(3, 20).proportion_ci(method="wilson")
    found = Estimate.proportion(3, 20)
    assert (found.value, found.low, found.high) == pytest.approx((0.15, *wilson), abs=1e-4)
    assert np.isnan(Estimate.proportion(0, 0).value)
    assert Estimate.share(np.array([1.0, 1.0, 1.0, 0.0])).high == 1


def test_the_interval_of_a_median_covers_it():
    """Of 400 draws of 41 skewed values."""
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(400):
        found = Estimate.median(rng.exponential(size=41))
        covered += found.low <= np.log(2) <= found.high
    assert 0.92 < covered / 400 <= 0.99
