"""The simulation itself, on populations where the answer is known: it passes what is right, and
finds what is wrong."""

import numpy as np
import pytest
from scipy import stats as scipy_stats

from interp.simulation import power, statistics
from interp.simulation.idle import called_idle
from interp.simulation.nulls import max_t_briefly, null_sweeps
from interp.simulation.populations import Design, Population, gaussian, real_populations
from interp.simulation.rates import Rate, covers, is_kept, mean_share, share
from interp.stats import sign_flip_t

N_SWEEPS = 100


def normal(n_heads: int, *, ways: int = 1, gap: float = 4.0) -> Population:
    """Independent heads, standard deviation 1 on each way; the gap's chance is half the first's."""
    levels = np.sqrt(n_heads) * np.eye(n_heads)
    levels = np.column_stack([levels, levels[:, 0] / 2])
    return Population(
        name="normal",
        effects=np.full(n_heads, 0.3),
        gap=gap,
        own=levels,
        other=levels if ways == 2 else None,
        cells=levels if ways == 2 else None,
        draw=gaussian,
    )


def flipped(values, clusters, seed):
    return sign_flip_t(values, clusters, n_flips=499, seed=seed)


def test_what_is_right_passes():
    found = null_sweeps(normal(40), Design(16), n_sweeps=N_SWEEPS, seed=0)
    assert covers(mean_share(found.mean_covered))
    assert covers(mean_share(found.ratio_covered))
    assert share(found.rejected).low <= 0.05


def test_clusters_of_one_way_alone_are_found_out():
    """A crossed design tested by one way: the other way's chance passes for an effect."""

    def by_one_way(values, clusters, seed):
        return sign_flip_t(values, clusters[:1], n_flips=499, seed=seed)

    found, both = (
        null_sweeps(normal(40, ways=2), Design(16, 8), test=test, n_sweeps=60, seed=1)
        for test in (by_one_way, max_t_briefly)
    )
    assert not is_kept(share(found.rejected))
    assert share(found.rejected).measured > 0.5
    assert share(both.rejected).low <= 0.05


def test_unequal_tails_are_found_out():
    """Levels of which one in twenty is large: few clusters seldom meet it, and intervals miss."""
    levels = np.full((20, 31), -1.0)
    levels[np.arange(31) % 20, np.arange(31)] = 19
    skewed = Population(name="skewed", effects=np.ones(30), gap=40.0, own=levels)
    found = null_sweeps(skewed, Design(16), test=flipped, n_sweeps=N_SWEEPS, seed=2)
    assert not covers(mean_share(found.mean_covered))
    assert not is_kept(share(found.rejected))


def test_on_real_effects_draws_keep_the_error_and_sign_flips_do_not():
    """`interp validate --statistics` in short: 16 pairs of coreference, and nothing to find."""
    real = real_populations()[0]
    assert (real.name, real.other) == ("coreference", None)
    kept, found = (
        null_sweeps(real, Design(16), test=test, n_sweeps=N_SWEEPS, seed=6).rejected
        for test in (max_t_briefly, flipped)
    )
    assert share(kept).low <= 0.05
    assert share(found).low > 0.2
    symmetric = null_sweeps(real.as_gaussian(), Design(16), n_sweeps=N_SWEEPS, seed=7)
    assert share(symmetric.rejected).low <= 0.05


def test_on_real_effects_intervals_cover():
    """A t interval is a little short where effects are skewed and clusters are few: .931 at 16."""
    for population in real_populations()[::2]:
        found = null_sweeps(population, Design(16), n_sweeps=3 * N_SWEEPS, seed=6)
        for covered in (found.mean_covered, found.ratio_covered):
            rate = mean_share(covered)
            assert rate.high > 0.93
            assert rate.low < 0.95


def test_the_table_has_every_claim(monkeypatch):
    monkeypatch.setattr(power, "N_PAIRS", {1.0: {1: 10, 20: 21}})
    found = statistics(seed=0, n_sweeps=4)
    assert set(found["quantity"]) == {
        "coverage", "false idle", "family-wise error", "false matters", "false verdict", "power"
    }  # fmt: skip
    assert set(found["design"]) >= {"16 clusters", "32 clusters", "16 × 8"}
    assert (found["low"] <= found["measured"]).all()
    assert (found["measured"] <= found["high"]).all()
    unclaimed = found[~found["claimed"]]
    assert set(zip(unclaimed["quantity"], unclaimed["procedure"], strict=True)) == {
        ("power", "max-T")
    }


def test_heads_at_the_bound_are_called_idle_in_5_percent():
    """The bound is 16, 64 standard errors from the mean of the other cell."""
    rate = mean_share(called_idle(normal(300, gap=800.0), Design(16), n_sweeps=40, seed=3))
    assert 0.04 < rate.measured < 0.06


def test_heads_at_a_bound_that_is_near_are_called_idle_less_often():
    """The bound is .25, one standard error: the other cell is seldom shown to be within it."""
    rate = mean_share(called_idle(normal(300, gap=12.5), Design(16), n_sweeps=40, seed=3))
    assert rate.measured < 0.01


@pytest.mark.parametrize(("d_z", "n_heads"), [(0.2, 270), (0.5, 72), (1.0, 1)])
def test_power_is_that_of_the_noncentral_t(d_z, n_heads):
    n = power.N_PAIRS[d_z][n_heads]
    critical = scipy_stats.t.ppf(1 - 0.05 / n_heads / 2, n - 1)
    expected = scipy_stats.nct.sf(critical, n - 1, d_z * np.sqrt(n))
    assert expected == pytest.approx(0.8, abs=0.03)
    rate = share(power.of_paired_t(d_z, n, n_heads, n_sweeps=2_000, seed=4))
    assert rate.low - 0.01 < expected < rate.high + 0.01


def test_power_of_max_t_grows_with_the_effect():
    rates = [
        power.of_max_t(max_t_briefly, d_z, 30, 60, n_sweeps=5, seed=5).mean()
        for d_z in (0.3, 0.8, 1.5)
    ]
    assert rates[0] < rates[1] < rates[2]
    assert rates[2] > 0.95


def test_rates_by_hand():
    """None of 59: the exact upper limit is 1 − .025^(1/59). Shares .9 and 1: ± 1.96 × .05."""
    none = share(np.zeros(59, dtype=bool))
    assert none == pytest.approx((0, 0, 1 - 0.025 ** (1 / 59)))
    assert mean_share(np.array([0.9, 1.0])) == pytest.approx((0.95, 0.852, 1.048), abs=1e-3)


@pytest.mark.parametrize(
    ("rate", "kept"),
    [
        (Rate(0.05, 0.04, 0.065), True),
        (Rate(0.0, 0.0, 0.01), True),
        (Rate(0.06, 0.051, 0.069), False),
        (Rate(0.05, 0.03, 0.071), False),
    ],
)
def test_an_error_is_kept_when_its_interval_reaches_5_and_not_above_7(rate, kept):
    assert is_kept(rate) is kept
