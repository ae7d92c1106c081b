"""A sweep in parts: all of it once, the same numbers; and what decides them changes the key."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from interp.effects import Resample, ResampleRandom, Scope, Zero, sweep
from interp.effects.digest import digest
from interp.effects.engine import singles
from interp.effects.metrics import ANSWER_LOGIT, LOGIT_DIFFERENCE, Metric
from interp.effects.parts import Part, Removals, parts
from interp.effects.pieces import Limits
from interp.shards import Shards, opened, shards_in

WITHIN = Limits(memory=10**9, rows_a_batch=2048)


@pytest.fixture(scope="module")
def batch(tiny, items):
    return tiny.encode(items[:12])[0]


@pytest.fixture(scope="module")
def removals(tiny, batch):
    return Removals(
        batch=batch,
        scope=Scope.EVERYWHERE,
        baseline=Resample(),
        metrics=(LOGIT_DIFFERENCE,),
        sets=singles(tiny, tiny.heads),
    )


@pytest.mark.parametrize("scope", [Scope.EVERYWHERE, Scope.QUERY])
@pytest.mark.parametrize("cost", [10**12, 10**6, 10**5, 1])
def test_every_variant_is_measured_on_every_item_once(tiny, removals, scope, cost):
    cut = parts(tiny, replace(removals, scope=scope), WITHIN, cost=cost)
    seen = np.zeros((len(removals.sets), len(removals.batch)), int)
    for part in cut:
        seen[part.variants[:, None], part.items] += 1
    assert (seen == 1).all()
    assert (len(cut) > 1) == (cost < 10**7)


def test_pairs_stay_together_and_sets_are_cut_only_where_a_pair_is_much(tiny, removals):
    donor = removals.batch.donor
    for part in parts(tiny, removals, WITHIN, cost=10**6):
        assert set(donor[part.items].tolist()) == set(part.items.tolist())
    many = replace(removals, sets=removals.sets.repeat(40, 1, 1))
    of_a_pair = parts(tiny, many, WITHIN, cost=1)
    assert {len(part.items) for part in of_a_pair} == {2}
    assert 1 < len(of_a_pair) / (len(donor) / 2) < 40
    layers = [many.sets[part.variants].any(2).int().argmax(1) for part in of_a_pair]
    assert all(torch.equal(each, each.sort().values) for each in layers)


@pytest.mark.parametrize("baseline", [Resample(), ResampleRandom(seed=1), Zero()])
def test_a_sweep_in_parts_is_the_sweep(tiny, batch, baseline):
    """Donors are those of the whole batch, also where another part has them."""
    whole = sweep(tiny, [batch], scopes=[Scope.QUERY], baseline=baseline)
    cut = sweep(tiny, [batch], scopes=[Scope.QUERY], baseline=baseline, shards=Shards(cost=10**5))
    assert whole.drop(columns=["intact", "edited", "corrupt"]).equals(
        cut.drop(columns=["intact", "edited", "corrupt"])
    )
    largest = whole["intact"].abs().max()
    for column in ("intact", "edited", "corrupt"):
        assert (whole[column] - cut[column]).abs().max() <= 1e-5 * largest


def test_a_sweep_that_goes_on_is_bit_for_bit_the_undisturbed_one(tiny, batch, tmp_path):
    undisturbed = sweep(tiny, [batch], shards=Shards(cost=10**5))
    with pytest.raises(KeyboardInterrupt):
        stopped(tiny, batch, tmp_path, after=5)
    assert len(shards_in(tmp_path)) == 5
    with opened(tmp_path, {}, noted={}, cost=10**5) as shards:
        went_on = sweep(tiny, [batch], memory=10**9, shards=shards)
        assert shards.n_read == 5
    assert went_on.equals(undisturbed)


def stopped(model, batch, folder, *, after):
    def execute(model, tasks, advance):
        for place, task in enumerate(tasks[:after]):
            yield place, task.result(model, advance=advance)
        raise KeyboardInterrupt

    with opened(folder, {}, noted={}, execute=execute, cost=10**5) as shards:
        sweep(model, [batch], memory=10**9, shards=shards)


@pytest.fixture(scope="module")
def part(removals):
    return Part(
        of=removals,
        weights=("abc", "float32"),
        variants=torch.arange(16),
        items=torch.arange(12),
        within=WITHIN,
        cost=1,
    )


def other_ids(batch):
    ids = batch.ids.clone()
    ids[0, 1] += 1
    return replace(batch, ids=ids)


def other_mask(batch):
    return replace(batch, source=batch.source.roll(1, dims=1))


def mine(logits, answer, foil):
    return logits[..., 0]


def mine_too(logits, answer, foil):
    return logits[..., 1]


CHANGES = {
    "as it is": lambda part: part,
    "model": lambda part: replace(part, weights=("abd", "float32")),
    "dtype": lambda part: replace(part, weights=("abc", "bfloat16")),
    "ids": lambda part: of(part, batch=other_ids(part.of.batch)),
    "mask": lambda part: of(part, batch=other_mask(part.of.batch)),
    "scope": lambda part: of(part, scope=Scope.QUERY),
    "operation": lambda part: of(part, baseline=Zero()),
    "seed": lambda part: of(part, baseline=ResampleRandom(seed=0)),
    "another seed": lambda part: of(part, baseline=ResampleRandom(seed=1)),
    "metric": lambda part: of(part, metrics=(ANSWER_LOGIT,)),
    "own metric": lambda part: of(part, metrics=(Metric("mine", mine),)),
    "own metric of the same name": lambda part: of(part, metrics=(Metric("mine", mine_too),)),
    "two metrics": lambda part: of(part, metrics=(LOGIT_DIFFERENCE, ANSWER_LOGIT)),
    "sets": lambda part: of(part, sets=part.of.sets.flip(0)),
    "variants": lambda part: replace(part, variants=torch.arange(15)),
    "items": lambda part: replace(part, items=torch.arange(10)),
    "rows a batch": lambda part: replace(part, within=Limits(10**9, 1024)),
    "memory": lambda part: replace(part, within=Limits(10**8, 2048)),
}


def of(part, **changes):
    return replace(part, of=replace(part.of, **changes))


def test_each_thing_that_decides_a_part_changes_its_key(part):
    keys = {name: change(part).key() for name, change in CHANGES.items()}
    assert len(set(keys.values())) == len(CHANGES)
    assert replace(part, of=replace(part.of)).key() == keys["as it is"]


def test_another_model_than_the_one_that_is_meant_is_refused(tiny, part):
    with pytest.raises(ValueError) as error:
        part.result(tiny)
    assert str(error.value) == (
        f"tiny-llama is here another model than where the run was begun (weights "
        f"{tiny.weights_hash[:12]}, float32, expected abc, float32); put the same files on every "
        "machine."
    )


def test_what_cannot_be_told_from_other_work_is_refused():
    with pytest.raises(TypeError) as error:
        digest(object())
    assert str(error.value) == (
        "the content of a object is not known, so work that holds one cannot be told from other "
        "work; give it what it needs as numbers, tensors or a dataclass."
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, True),
        ("1", 1),
        ((1, 2), (12,)),
        ([], ()),
        ({"a": 1}, {"a": 2}),
        (torch.zeros(2), torch.zeros(1, 2)),
        (torch.zeros(2), torch.zeros(2, dtype=torch.float64)),
        (np.zeros(2, np.float32), np.zeros(2, np.int32)),
        (torch.ones(2, dtype=torch.bfloat16), torch.zeros(2, dtype=torch.bfloat16)),
        (mine, mine_too),
    ],
)
def test_different_values_have_different_digests(one, other):
    assert digest(one) != digest(other)
    assert digest(one) == digest(one)
