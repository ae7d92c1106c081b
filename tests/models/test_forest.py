"""Prompts that share prefixes: nodes counted by hand, and the walk against whole forwards."""

import numpy as np
import torch

from interp.models.blocks import slices
from interp.models.families import small_ids
from interp.models.forest import forest, paired, unshared
from interp.models.routes import route
from interp.models.walk import ground, walk
from tests.models.conftest import RUNNING, each, plain_of

CAUSAL = [variant for variant in RUNNING if variant.kind == "causal"]
ENCODERS = [variant for variant in RUNNING if variant.kind != "causal"]


def test_nodes_are_the_distinct_prefixes():
    """a b c, a b d, a x, and a b again: a, ab, abc, abd, ax."""
    symbols = torch.tensor([[7, 8, 3], [7, 8, 4], [7, 9, 0], [7, 8, 5]])
    grown = forest(symbols, torch.tensor([3, 3, 2, 2]))
    assert len(grown) == 5
    assert grown.node_of.tolist() == [[0, 1, 2], [0, 1, 3], [0, 4, -1], [0, 1, -1]]
    assert grown.depth.tolist() == [0, 1, 2, 2, 1]


def test_a_crossed_design_has_as_many_nodes_as_it_has_prefixes():
    """16 × 8 prompts of one, one and two tokens after a shared one: 1 + 16 + 16 + 128."""
    rows = [(0, 1 + one, 50, 60 + other) for one in range(16) for other in range(8)]
    symbols = torch.tensor(rows)[torch.randperm(128, generator=torch.Generator().manual_seed(0))]
    grown = forest(symbols, torch.full((128,), 4))
    assert len(grown) == 1 + 16 + 16 + 128


def test_the_order_of_the_items_changes_nothing_but_places():
    symbols = torch.randint(0, 3, (40, 6), generator=torch.Generator().manual_seed(0))
    lengths = torch.randint(1, 7, (40,), generator=torch.Generator().manual_seed(1))
    order = torch.randperm(40, generator=torch.Generator().manual_seed(2))
    one, other = forest(symbols, lengths), forest(symbols[order], lengths[order])
    assert np.array_equal(one.node_of[order.numpy()], other.node_of)
    prefixes = {
        tuple(row[:end].tolist())
        for row, length in zip(symbols, lengths, strict=True)
        for end in range(1, int(length) + 1)
    }
    assert len(one) == len(prefixes)


def test_a_pair_of_symbols_is_one_symbol():
    one, other = torch.tensor([[0, 0, 1, 1]]), torch.tensor([[-1, 2, -1, 2]])
    assert len(paired(one, other).unique()) == 4
    assert (paired(one, other) >= 0).all()


def test_each_row_of_a_block_sees_its_own_prefix_once():
    symbols = torch.randint(0, 3, (30, 9), generator=torch.Generator().manual_seed(3))
    grown = forest(symbols, torch.full((30,), 9))
    nodes = np.arange(len(grown))
    rows = np.random.default_rng(0).permutation(nodes)[:50]
    own = np.full(len(grown), -1)
    own[rows] = np.arange(50)
    seen = {}
    for cut in slices(grown, rows, own=own, stored=nodes, n_variants=3):
        keys = np.concatenate([rows[cut.own], cut.stored], axis=1)
        for block in range(len(cut.rows)):
            for place, row in enumerate(cut.rows[block]):
                seen[row] = sorted(keys[block][cut.sees[block, place]].tolist())
    for row, node in enumerate(rows):
        prefix = grown.node_of[grown.item[node], : grown.depth[node] + 1]
        assert seen[row] == sorted(prefix.tolist())


def test_every_position_apart_where_nothing_is_shared():
    grown = unshared(2, 3)
    assert grown.node_of.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert grown.depth.tolist() == [0, 1, 2, 0, 1, 2]


def prompts():
    """Twelve tokens; 0 and 1 share eight, 2 shares three with them."""
    ids = small_ids(4)
    ids[1, :8] = ids[0, :8]
    ids[2, :3] = ids[0, :3]
    return ids


@each(CAUSAL)
def test_every_decoder_shares_prefixes(name):
    """Windows, ALiBi, soft-caps, sinks, post-norms, experts: all states, of all nodes."""
    plain, ids = plain_of(name), prompts()
    assert str(route(plain)) == "forest, active rows only"
    with torch.inference_mode():
        expected = plain.last_block(ids)
    start = ground(plain, ids, torch.full((4,), 12), shares=True)
    assert len(start.grown) == 12 * 4 - 8 - 3
    *_, last = walk(start)
    found = last.after[torch.from_numpy(start.grown.node_of)]
    torch.testing.assert_close(found, expected, atol=1e-5 * expected.abs().max().item(), rtol=0)


@each(ENCODERS)
def test_an_encoder_shares_nothing_and_says_why(name):
    expected = "every position sees every other" if name != "t5, encoder" else "hand one another"
    assert expected in str(route(plain_of(name)))
