"""The whole of the rules, on heads whose truth is known."""

from importlib import import_module

import numpy as np
import pytest

from interp.simulation.populations import Design, real_populations
from interp.simulation.verdicts import ANY_CLAIM, false_verdicts
from interp.stats import equivalence

N_SWEEPS = 16


@pytest.fixture(scope="module", params=[(0, Design(32)), (1, Design(16, 8))], ids=["one", "two"])
def errors(request):
    number, design = request.param
    return false_verdicts(real_populations()[number], design, n_sweeps=N_SWEEPS, seed=0)


def test_no_head_that_does_nothing_is_given_a_role(errors):
    assert errors[ANY_CLAIM].sum() <= 1


def test_heads_where_a_rule_is_hardest_to_keep_are_seldom_misjudged(errors):
    assert len(errors) == 5
    assert max(rates.mean() for rates in errors.values()) < 0.06


def test_a_rule_that_is_not_kept_is_found_out(monkeypatch):
    """With the gap that came out as if it were the true one, as many as chance has it pass."""

    def careless(values, gap, clusters, *, bound, cells):
        return equivalence(
            values, np.full_like(gap, gap.mean()), clusters, bound=bound, cells=cells
        )

    monkeypatch.setattr(import_module("interp.contrast.estimates"), "equivalence", careless)
    found = false_verdicts(real_populations()[0], Design(32), n_sweeps=N_SWEEPS, seed=0)
    wrong_edge = next(rates for kind, rates in found.items() if kind.startswith("wrong edge"))
    assert np.mean(wrong_edge) > 0.1
