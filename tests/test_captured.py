"""Shares by hand, and what stands where there is nothing to share."""

import numpy as np
import pandas as pd
import pytest

from interp.contrast.captured import Curves, captured, nothing_to_share
from interp.contrast.orders import order_of

CLUSTERS = [np.repeat(np.arange(10), 2)]


def curves(causal=(1.0, 2.0), raw=(0.0, 1.5), spread=0.01, ks=(1, 2), **others):
    """Twenty items in ten clusters, the same up to a little noise."""
    rng = np.random.default_rng(0)

    def items(levels):
        return np.array(levels) + spread * rng.normal(size=(20, len(levels)))

    orders = {"causal": causal, "raw": raw, **others}
    at_random = (items((0.0, 0.2 * number, 0.0)[: len(ks)]) for number in range(5))
    random = np.stack(list(at_random))
    return Curves(
        tier="query",
        ks=ks,
        orders={name: items(levels) for name, levels in orders.items()},
        random=random,
        clusters=CLUSTERS,
    )


def test_shares_areas_and_differences_by_hand():
    """Raw: 0 of 1, then 1.5 of 2. CAS: all of 1, then 1.5 of 2. Areas .375 and .875."""
    found = captured(curves(cas=(1.0, 1.5)), seed=0)
    by = found.curves.set_index(["measure", "k"])
    assert by.loc["raw", "share"].tolist() == pytest.approx([0, 0.75], abs=0.01)
    assert by.loc["cas", "over_raw"].tolist() == pytest.approx([1, 0], abs=0.01)
    areas = found.areas.set_index("measure")
    assert areas.loc["raw", "area"] == pytest.approx(0.375, abs=0.01)
    assert areas.loc["cas", "area_over_raw"] == pytest.approx(0.5, abs=0.01)
    assert (areas["area_low"] <= areas["area"]).all()
    assert areas.loc["cas", "area_over_raw_low"] > 0.45
    assert (areas["k_max"] == 2).all()


def test_between_numbers_of_heads_that_were_removed_shares_are_linear():
    """0 of one head and .75 of four: 0, .25, .5 and .75."""
    found = captured(curves(spread=0.0, ks=(1, 4)), seed=0)
    areas = found.areas.set_index("measure")
    assert areas.loc["raw", "area"] == pytest.approx(0.375)
    assert areas.loc["causal", "area"] == 1
    three = captured(
        curves(causal=(1, 1, 1), raw=(0, 0.5, 1), spread=0.0, ks=(1, 2, 6)), seed=0
    ).areas.set_index("measure")
    shares = [0, 0.5, 0.625, 0.75, 0.875, 1]
    assert three.loc["raw", "area"] == pytest.approx(np.mean(shares))


def test_the_causal_order_captures_all_by_construction_and_raw_is_not_over_itself():
    found = captured(curves(spread=0.3), seed=0)
    causal = found.curves.query("measure == 'causal'")
    assert causal[["share", "share_low", "share_high"]].to_numpy() == pytest.approx(1)
    assert (found.curves.query("measure == 'raw'")["over_raw"] == 0).all()


def test_shares_are_ratios_of_means_in_plain_pandas():
    given = curves(spread=0.5, norm=(0.5, 0.7))
    found = captured(given, seed=0).curves.set_index(["measure", "k"])
    for name, values in given.orders.items():
        means = pd.DataFrame(values).mean() / pd.DataFrame(given.orders["causal"]).mean()
        assert found.loc[name, "share"].to_numpy() == pytest.approx(means.to_numpy())


def test_the_band_holds_the_middle_of_the_random_orders():
    given = curves(spread=0.0)
    at_random = captured(given, seed=0).curves.query("measure == 'random'").set_index("k")
    # 0, .1, .2, .3 and .4 of what the causal order removes
    assert at_random.loc[2, "share"] == pytest.approx(0.2)
    assert at_random.loc[2, "share_low"] == pytest.approx(0.01)
    assert at_random.loc[2, "share_high"] == pytest.approx(0.39)


def test_where_the_reference_is_not_certain_there_is_no_share():
    """The first head by effect removes 0 up to noise, the first two 2."""
    found = captured(curves(causal=(0.0, 2.0), spread=0.1), seed=0)
    assert set(found.curves["k"]) == {2}
    assert found.areas.set_index("measure").loc["raw", "area"] == pytest.approx(0.75, abs=0.05)
    nothing = curves(causal=(0.0, -1.0), spread=0.1)
    assert nothing_to_share(curves()) == ""
    with pytest.raises(ValueError) as error:
        captured(nothing, seed=0)
    assert str(error.value) == nothing_to_share(nothing)
    assert nothing_to_share(nothing) == (
        "What the heads that lead by effect take away from other items (query) is not certainly "
        "more than 0 for any number of heads, so there is nothing to have a share of."
    )


def test_an_order_by_raw_attention_is_needed():
    without = curves()
    del without.orders["raw"]
    with pytest.raises(ValueError) as error:
        captured(without, seed=0)
    assert str(error.value) == "expected an order called 'raw' among causal."


def test_heads_stand_by_value_with_their_sign_and_those_without_last():
    assert order_of(np.array([0.1, np.nan, 3.0, -4.0]), seed=0).tolist() == [2, 0, 3, 1]


def test_heads_that_tie_up_to_rounding_stand_in_no_fixed_order():
    means = np.float32(0.9) + np.array([0, 1e-8, 0, 0, 0.1])
    orders = [order_of(means, seed=seed).tolist() for seed in range(200)]
    assert all(order[0] == 4 for order in orders)
    seconds = np.bincount([order[1] for order in orders], minlength=5)
    assert seconds[:4].min() > 25  # of 200 / 4, four standard errors down
    assert order_of(np.zeros(3), seed=1).tolist() == order_of(np.zeros(3), seed=1).tolist()


def test_no_value_is_no_order():
    with pytest.raises(ValueError) as error:
        order_of(np.full(3, np.nan), seed=0)
    assert str(error.value) == (
        "an order needs a head with a value, got none; leave the measure out."
    )
