"""The examples of the README's section on reusing the hooks, as they stand there."""

import pytest
import torch

from interp import hooks
from interp.guards import run
from interp.probes import leak_probe


@pytest.fixture(scope="module")
def prompts_of_the_readme(tiny):
    clean, corrupt = "The farmer beside the pilots", "The farmers beside the pilots"
    ids = torch.tensor([tiny.tokens(clean).ids])
    other = torch.tensor([tiny.tokens(corrupt).ids])
    assert ids.shape == other.shape
    return tiny.bridge, ids, other


def test_remove_a_head(prompts_of_the_readme):
    bridge, ids, other = prompts_of_the_readme

    _, donor = bridge.run_with_cache(other)
    zeroed = bridge.run_with_hooks(ids, fwd_hooks=hooks.ablate("3.1", hooks.Zero()))
    swapped = bridge.run_with_hooks(
        ids, fwd_hooks=hooks.ablate(["L2H0", (3, 1)], hooks.Resample(donor), positions=[-1])
    )

    intact = bridge(ids)
    assert not torch.equal(zeroed, intact)
    assert torch.equal(swapped[:, :-1], intact[:, :-1])
    assert not torch.equal(swapped[:, -1], intact[:, -1])


def test_take_one_edge_away(prompts_of_the_readme):
    bridge, ids, other = prompts_of_the_readme
    _, donor = bridge.run_with_cache(other)

    edge = hooks.Edge(query=[-1], source=[2])
    zeroed = hooks.zero_edge("3.1", edge)  # the rest of the row stays
    closed = hooks.close_edge("3.1", edge)  # the rest of the row renormalises
    swapped = hooks.resample_edge("3.1", edge, donor)  # what came over it in the other run
    for pairs in (zeroed, closed, swapped):
        with bridge.hooks(fwd_hooks=pairs):
            logits, cache = bridge.run_with_cache(ids)

        assert not torch.equal(logits, bridge(ids))
        assert cache["blocks.3.attn.hook_pattern"][0, 1, -1, 2] == 0


def test_ask_what_a_head_reads(prompts_of_the_readme):
    bridge, ids, other = prompts_of_the_readme
    intact_logits, intact = bridge.run_with_cache(ids)
    _, donor = bridge.run_with_cache(other)

    looks = hooks.freeze_pattern("3.1", donor)
    brings = hooks.patch(hooks.value("L3KV0"), donor)
    tells = hooks.path(
        bridge,
        ids,
        senders="1.2",
        receivers=[hooks.query("3.1"), hooks.key("L3KV0")],
        intact=intact,
        donor=donor,
        mlps=hooks.MLPs.LIVE,
    )
    for pairs in (looks, brings, tells, hooks.uniform_pattern("3.1")):
        assert not torch.equal(run(bridge, ids, pairs), intact_logits)


def test_probe_ones_own_attention(prompts_of_the_readme):
    bridge, ids, _ = prompts_of_the_readme

    assert leak_probe(bridge, ids) < 1e-5
