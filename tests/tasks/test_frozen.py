"""The frozen sets are what their seeds give, byte for byte."""

import pandas as pd
import pytest

from interp.tasks import build, families, read_pairs
from interp.tasks.far import KINDS
from interp.tasks.frozen import HASHES, content, large_sets, sha256, small_sets
from tests.tasks.conftest import DATA

FOLDER = DATA / "frozen"
SMALL = list(small_sets())


@pytest.mark.parametrize("frozen", SMALL, ids=lambda frozen: frozen.filename)
def test_building_again_gives_the_same_bytes(frozen, smollm2):
    assert (FOLDER / frozen.filename).read_bytes() == content(frozen, smollm2.tokenizer).encode()


def test_each_corruption_of_each_family_has_its_hash():
    """From the families themselves; at a distance 7 kinds, 6 distances and one more, 2 of each."""
    table = pd.read_csv(FOLDER / HASHES)
    there = list(table[["family", "corruption"]].itertuples(index=False, name=None))
    short = [family for family in families() if family.name.count("/") == 1]
    expected = [(each.name, corruption) for each in short for corruption in each.corruptions]
    assert there[: len(expected)] == expected
    far = there[len(expected) :]
    assert len(far) == len(set(far)) == 7 * (6 + 1) * 2
    assert {family.split("/")[1] for family, _ in far} == set(KINDS)
    assert (table["seed"] == 0).all()
    assert table["sha256"].is_unique


@pytest.mark.parametrize(
    ("family", "corruption", "n_pairs"),
    [
        ("agreement/simple", "feature_flip", 512),
        ("agreement/dist-8", "removal", 512),
        ("long_range/needle/32/fixed_source", "removal", 64),
        ("long_range/far_agreement/256/fixed_query", "feature_flip", 16),
    ],
)
def test_a_large_set_has_the_hash_that_is_written(family, corruption, n_pairs, smollm2):
    table = pd.read_csv(FOLDER / HASHES).set_index(["family", "corruption"])
    frozen = next(each for each in large_sets() if each[:2] == (family, corruption))
    row = table.loc[(family, corruption)]
    assert (row["n_pairs"], row["seed"]) == (frozen.n_pairs, frozen.seed) == (n_pairs, 0)
    assert row["sha256"] == sha256(frozen, smollm2.tokenizer)


def test_a_file_is_read_back_as_the_items_that_were_built(smollm2):
    frozen = SMALL[0]
    items = build(
        frozen.family,
        smollm2.tokenizer,
        n_pairs=frozen.n_pairs,
        seed=frozen.seed,
        corruption=frozen.corruption,
    )
    assert read_pairs(FOLDER / frozen.filename, smollm2.tokenizer) == items


def test_the_folder_holds_these_and_is_small():
    assert {path.name for path in FOLDER.iterdir()} == {HASHES, *(each.filename for each in SMALL)}
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 5_000_000
