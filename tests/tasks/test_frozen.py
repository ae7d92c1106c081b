"""The frozen sets are what their seeds give, byte for byte."""

import pandas as pd
import pytest

from interp.tasks import build, read_pairs
from interp.tasks.frozen import HASHES, content, large_sets, sha256, small_sets
from tests.tasks.conftest import DATA

FOLDER = DATA / "frozen"
SMALL = list(small_sets())


@pytest.mark.parametrize("frozen", SMALL, ids=lambda frozen: frozen.filename)
def test_building_again_gives_the_same_bytes(frozen, smollm2):
    assert (FOLDER / frozen.filename).read_bytes() == content(frozen, smollm2.tokenizer).encode()


def test_a_large_set_has_the_hash_that_is_written(smollm2):
    table = pd.read_csv(FOLDER / HASHES)
    assert table["family"].tolist() == [frozen.family for frozen in large_sets()]
    row = table[table["family"] == "agreement/simple"].iloc[0]
    frozen = next(frozen for frozen in large_sets() if frozen.family == "agreement/simple")
    assert (row["n_pairs"], row["seed"]) == (frozen.n_pairs, frozen.seed)
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
