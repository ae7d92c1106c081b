"""Every known head, measured; and the numbers that one item's average does not show."""

from functools import cache

import pytest
import torch

from interp.effects import LOGIT_DIFFERENCE, Scope, sweep
from interp.hooks import (
    Edge,
    MLPs,
    Resample,
    Zero,
    ablate,
    close_edge,
    direct,
    key,
    patch,
    path,
    query,
    uniform_pattern,
    value,
)
from interp.measures.battery import battery
from interp.measures.repeats import repeats
from interp.models.direct import direct_logit_attribution
from interp.planted import NAMES
from interp.validate import validate


@cache
def compared(name):
    """What is known of a model beside what is measured, once for both tests that ask."""
    return validate([name])


def difference(logits, batch):
    at = logits[torch.arange(len(batch)), batch.query]
    return LOGIT_DIFFERENCE(at, batch.answer, batch.foil)


def run(model, batch, hooks=()):
    """The logit difference of each item on the bridge, under hooks."""
    with torch.inference_mode():
        return difference(model.bridge.run_with_hooks(batch.ids, fwd_hooks=list(hooks)), batch)


def caches(model, batch):
    """What the bridge saw on the items, and on their counterfactuals."""
    with torch.inference_mode():
        _, intact = model.bridge.run_with_cache(batch.ids)
        _, donor = model.bridge.run_with_cache(batch.ids[batch.donor])
    return intact, donor


@pytest.mark.parametrize("name", NAMES)
def test_every_head_is_what_it_is_known_to_be(plant, name):
    """Attention, effects at three tiers by resample, by zero and by mean, direct, and verdict.

    On the way the engine is compared with the loop over the bridge, on every head.
    """
    table = compared(name)
    assert table["agrees"].all(), table[~table["agrees"]].to_string()
    assert set(table["quantity"]) >= {"everywhere", "query", "edge", "zero", "mean"}


@pytest.mark.parametrize("name", NAMES)
def test_zero_ablation_on_the_bridge_is_that_of_the_plain_model(plant, name):
    model, batch = plant(name)
    expected = compared(name).query("quantity == 'zero'").set_index("head")["measured"]
    intact = run(model, batch)
    for head in model.heads:
        lost = (intact - run(model, batch, ablate([head], Zero()))).mean().item()
        assert lost == pytest.approx(expected[head.label], abs=1e-5)


def test_the_table_by_hand(plant):
    """The logit differences that the constructions were made for."""
    for name, expected in {
        "induction": 1, "agreement": 1, "diffuse": 1, "relay": 1, "backup": 0.5, "eraser": 1,
        "grouped": 1.5, "norm-repair": 2.4, "chain": 1, "bidirectional": 1, "rotary": 1,
    }.items():  # fmt: skip
        assert torch.allclose(run(*plant(name)), torch.tensor(float(expected)), atol=1e-3), name


def test_detectors_rank_the_true_head_first(plant):
    """On random repeats: previous token 1.000, induction 1.000, all others below .05."""
    model, _ = plant("induction")
    found = battery(model, repeats(model, period=20)).set_index("label")
    for measure, true in {"previous_token": "L0H0", "induction": "L1H0"}.items():
        scores = found[measure].sort_values(ascending=False)
        assert scores.index[0] == true
        assert scores.iloc[0] > 0.999
        assert scores.iloc[1] < 0.05


def test_induction_is_right_on_every_repeat_and_needs_both_heads(plant):
    model, _ = plant("induction")
    random = repeats(model, period=20)
    with torch.inference_mode():
        for heads, expected in ((None, 1.0), ("L0H0", 0.0), ("L1H0", 0.0), ("L0H1", 1.0)):
            hooks = [] if heads is None else ablate(heads, Zero())
            logits = model.bridge.run_with_hooks(random.ids, fwd_hooks=hooks)
            second = slice(random.period + 1, 2 * random.period)
            guesses = logits[:, second].argmax(-1)
            assert (guesses == random.ids[:, random.period + 2 :]).float().mean() == expected


def test_either_head_is_enough_and_both_are_needed(plant):
    """OR: each removal 0, together 1. AND: each 1, together 1."""
    for name, alone in (("either", 0.0), ("both", 1.0)):
        model, batch = plant(name)
        intact = run(model, batch)
        for heads in ("L0H0", "L0H1"):
            lost = intact - run(model, batch, ablate(heads, Zero()))
            assert torch.allclose(lost, torch.tensor(alone), atol=1e-5)
        lost = intact - run(model, batch, ablate(["L0H0", "L0H1"], Zero()))
        assert torch.allclose(lost, torch.tensor(1.0), atol=1e-5)


def test_agreement_without_its_marker_fails_on_attractors_alone(plant):
    """Mismatch 1 → 0; where both nouns have one number, 1 stays 1."""
    model, _ = plant("agreement")
    texts = ["the farmer near pilots right now", "the farmer near pilot right now"]
    ids = torch.tensor([model.tokens(text).ids for text in texts])
    singular, plural = (model.tokenizer.convert_tokens_to_ids(f"▁{verb}") for verb in ("is", "are"))
    with torch.inference_mode():
        for hooks, expected in (([], [1, 1]), (ablate("L0H0", Zero()), [0, 1])):
            logits = model.bridge.run_with_hooks(ids, fwd_hooks=hooks)[:, -1]
            assert torch.allclose(
                logits[:, singular] - logits[:, plural], torch.tensor(expected).float(), atol=1e-5
            )


def test_a_constant_writer_shows_in_one_logit_and_not_in_the_difference(plant):
    """The answer's logit is 1.7 → 1.0 under zero, unchanged by resample. On one name: ±.7."""
    model, batch = plant("decoys")
    rows = torch.arange(len(batch))
    _, donor = caches(model, batch)
    john = model.tokenizer.convert_tokens_to_ids("▁john")
    without = (batch.answer != john) & (batch.foil != john)

    def answer(hooks):
        with torch.inference_mode():
            logits = model.bridge.run_with_hooks(batch.ids, fwd_hooks=hooks)
        return logits[rows, batch.query, batch.answer][without]

    for hooks, expected in (
        ([], 1.7), (ablate("L0H3", Zero()), 1.0), (ablate("L0H3", Resample(donor)), 1.7),
    ):  # fmt: skip
        assert torch.allclose(answer(hooks), torch.tensor(expected), atol=1e-5)
    lost = run(model, batch) - run(model, batch, ablate("L0H4", Zero()))
    expected = 0.7 * ((batch.answer == john).float() - (batch.foil == john).float())
    assert torch.allclose(lost, expected, atol=1e-5)
    assert expected.abs().max() > 0


def test_an_even_head_keeps_everything_under_an_even_pattern(plant):
    """The diffuse head keeps all of its effect; the head that looks loses it."""
    for name, expected in (("diffuse", 1.0), ("bidirectional", 0.0)):
        model, batch = plant(name)
        edited = run(model, batch, uniform_pattern("L0H0"))
        assert torch.allclose(edited, torch.tensor(expected), atol=1e-5)


def test_primary_and_backup_are_more_than_their_sum(plant):
    """Zero: 0 and 0 alone, 1 together; Shapley .5, .5, −.5, which sum to the .5 there is."""
    from itertools import permutations

    model, batch = plant("backup")
    heads = ("L0H0", "L1H0", "L1H1")

    def left(present):
        gone = [head for head in heads if head not in present]
        return run(model, batch, ablate(gone, Zero()) if gone else []).mean().item()

    assert left(heads) == pytest.approx(0.5, abs=1e-5)
    assert left(("L1H0", "L1H1")) == pytest.approx(0.5, abs=1e-5)
    assert left(("L1H1",)) == pytest.approx(-0.5, abs=1e-5)
    shapley = dict.fromkeys(heads, 0.0)
    for order in permutations(heads):
        for place, head in enumerate(order):
            shapley[head] += (left(order[: place + 1]) - left(order[:place])) / 6
    assert list(shapley.values()) == pytest.approx([0.5, 0.5, -0.5], abs=1e-5)
    attributed = direct_logit_attribution(model, batch)
    assert attributed.heads[:, 0, 0].mean().item() == pytest.approx(1, abs=1e-5)


def test_the_eraser_takes_back_what_it_would_not_without_the_head(plant):
    """The erased head says 1 directly (later heads frozen), and nothing in all."""
    model, batch = plant("eraser")
    intact, donor = caches(model, batch)
    spoken = direct(model.bridge, senders="L0H1", intact=intact, donor=donor, mlps=MLPs.LIVE)
    before = run(model, batch)
    assert torch.allclose(before - run(model, batch, spoken), torch.tensor(2.0), atol=1e-5)
    whole = run(model, batch, ablate("L0H1", Resample(donor)))
    assert torch.allclose(before - whole, torch.tensor(0.0), atol=1e-5)


def test_an_mlp_says_what_the_head_marks(plant):
    """Direct effect 0 with the MLP frozen; all of it with the MLP live."""
    model, batch = plant("mlp")
    intact, donor = caches(model, batch)
    for mlps, expected in ((MLPs.FROZEN, 0.0), (MLPs.LIVE, 2.0)):
        spoken = direct(model.bridge, senders="L0H0", intact=intact, donor=donor, mlps=mlps)
        lost = run(model, batch) - run(model, batch, spoken)
        assert torch.allclose(lost, torch.tensor(expected), atol=1e-5)


def test_a_chain_breaks_when_its_receivers_are_recorded_frozen(plant):
    """Through the next receiver alone the word arrives; with all patched, it stops at the first."""
    model, batch = plant("chain")
    intact, donor = caches(model, batch)
    receivers = {
        "next": [value("L1KV0")],
        "all": [value("L1KV0"), value("L2KV0"), value("L3KV0")],
    }
    lost = {}
    for name, sites in receivers.items():
        with torch.inference_mode():
            hooks = path(
                model.bridge, batch.ids, senders="L0H0", receivers=sites, intact=intact,
                donor=donor, mlps=MLPs.LIVE,
            )  # fmt: skip
        lost[name] = (run(model, batch) - run(model, batch, hooks)).mean().item()
    assert lost["next"] == pytest.approx(2, abs=1e-5)
    assert lost["all"] == pytest.approx(0, abs=1e-5)


def test_which_input_carries_the_difference(plant):
    """A pronoun swap comes by the query alone: not by key, not by value."""
    model, batch = plant("decoys")
    _, donor = caches(model, batch)
    sites = {"query": query("L0H0"), "key": key("L0KV0"), "value": value("L0KV0")}
    lost = {
        name: (run(model, batch) - run(model, batch, patch(site, donor))).mean().item()
        for name, site in sites.items()
    }
    assert lost == pytest.approx({"query": 2, "key": 0, "value": 0}, abs=1e-5)


def test_a_closed_edge_takes_the_answer_and_another_edge_nothing(plant):
    """Knocking out query → source loses 1, query → the other name loses 0."""
    model, batch = plant("query-modifier")
    at = torch.zeros_like(batch.source)
    at[torch.arange(len(batch)), batch.query] = True
    for source, expected in ((batch.source, 1.0), (batch.distractor, 0.0)):
        hooks = close_edge("L1H0", Edge(query=at, source=source))
        lost = run(model, batch) - run(model, batch, hooks)
        assert torch.allclose(lost, torch.tensor(expected), atol=1e-5)


def test_cells_cancel_and_are_not_nothing(plant):
    """±5 % of the gap, by the class of the names; the mean is 0 and reads as no effect."""
    model, batch = plant("lookalikes")
    (head,) = [head for head in model.heads if head.head == 5]
    effects = sweep(model, [batch], scopes=[Scope.QUERY], heads=[head])
    names = {item.item_id: item.labels["names"] for item in batch.items}
    effects["share"] = (effects["intact"] - effects["edited"]) / 2
    by_class = effects.groupby(effects["item_id"].map(names))["share"].mean()
    assert by_class["common"] == pytest.approx(0.05, abs=1e-5)
    assert by_class["rare"] == pytest.approx(-0.05, abs=1e-5)
