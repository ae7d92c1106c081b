"""The table of times: its counts by hand, and a row of it on a model of a moment."""

import pandas as pd
import pytest
import torch

from interp.bench import Own, Scenario, bench, bench_own
from interp.bench.counts import count
from interp.bench.own import on_the_edge, recalled, swept
from interp.bench.scenarios import batch_of, crossed, unlike
from interp.effects import Resample, Scope
from interp.effects.pieces import limits
from interp.effects.screening import Screening


def test_crossed_prompts_are_counted_by_hand():
    """Start, word, 16 × flip (2), word, 8: what follows the flip is run again, once a prefix."""
    ids = crossed(400, 0)
    assert ids.shape == (256, 6)
    batch = batch_of(ids)
    assert torch.equal((ids != ids[batch.donor]).sum(1), torch.ones(256, dtype=torch.long))
    assert len({tuple(row) for row in ids.tolist()}) == 256


def test_rows_and_multiplications_are_counted_by_hand(tiny):
    batch = batch_of(crossed(tiny.config.vocab_size, 0))
    counts = count(tiny, batch, Scope.EVERYWHERE, Resample(), limits(tiny.plain, None))
    assert counts.n_tokens == 256 * 6
    assert counts.n_nodes == 1 + 1 + 16 + 32 + 32 + 256
    assert counts.n_rows == 32 + 32 + 256
    in_layer = sum(p.numel() for p in tiny.plain.module.model.layers[0].parameters())
    in_head = tiny.plain.module.lm_head.weight.numel()
    assert counts.plain == 16 * 1536 * (4 * in_layer + in_head)
    assert counts.ours == in_layer * (338 * 4 + 320 * 4 * (4 + 3 + 2 + 1)) + 2 * 32 * 16 * 256


def test_pairs_that_share_nothing_differ_in_one_token():
    ids = unlike(5, 12)(100, 0)
    assert ids.shape == (10, 12)
    assert ((ids[::2] != ids[1::2]).nonzero()[:, 1] == 6).all()


def test_a_row_of_the_table(tiny_folder):
    scenario = Scenario(
        name="small", scope=Scope.QUERY, wanted=1.0, prompts=unlike(3, 6), n_sampled=2,
        model=str(tiny_folder), with_helper=True,
    )  # fmt: skip
    (row,) = bench([scenario]).to_dict(orient="records")
    assert row["difference"] <= 1e-5
    assert row["rows"] == 6
    assert row["ratio"] == pytest.approx(row["plain_s"] / row["ours_s"])
    assert row["helper_s"] > 0
    assert row["memory_mb"] <= row["budget_mb"]


def test_a_pair_has_each_others_answers():
    batch = batch_of(unlike(3, 6)(100, 0))
    assert torch.equal(batch.answer[batch.donor], batch.foil)
    assert not (batch.answer == batch.foil).any()


def test_a_row_of_two_sweeps_of_ours(tiny_folder):
    row = Own(
        name="small", ours=swept(Scope.EDGE), beside=swept(Scope.QUERY), beside_name="the query's",
        at_most=1.25, judged=on_the_edge, prompts=unlike(3, 6), model=str(tiny_folder),
    )  # fmt: skip
    (found,) = bench_own([row]).to_dict(orient="records")
    assert found["heads"] == 16
    assert found["items"] == 6
    assert found["times"] == pytest.approx(found["ours_s"] / found["beside_s"])
    assert found["ratio"] == pytest.approx(1 / found["times"])
    assert found["wanted"] == pytest.approx(0.8)
    assert found["difference"] <= 1e-5


def test_the_recall_of_a_screening_by_hand(tiny):
    """The leading two by |mean effect| are L0H1 and L1H1, and one of them was not looked at."""
    effects = {(0, 0): (1.0, -1.0), (0, 1): (-3.0, -3.0), (1, 0): (0.5, 0.5), (1, 1): (2.0, 2.0)}
    exact = pd.DataFrame(
        [
            {"layer": layer, "head": head, "intact": effect, "edited": 0.0}
            for (layer, head), each in effects.items()
            for effect in each
        ]
    )
    heads = pd.DataFrame(list(effects), columns=["layer", "head"])
    heads["measured"] = ["top", "top", "random", "no"]
    found = Screening(
        effects=exact, heads=heads, rank_agreement=0.7, k=2, recall=0.9, low=0.5, high=1.0
    )
    assert recalled(tiny, batch_of(unlike(1, 6)(100, 0)), found, exact) == {
        "recall": 0.5, "top": 0.5, "estimated_recall": 0.9, "rank_agreement": 0.7,
    }  # fmt: skip
