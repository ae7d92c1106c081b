"""The committed table of natural text: its page is made of its figures, with every control."""

from pathlib import Path

import pandas as pd
import pytest

from analyses.natural_text import CAPTION, MODELS, N_SEEDS, as_markdown

FOLDER = Path(__file__).parents[1] / "reports" / "natural_text"


@pytest.fixture(scope="module")
def table():
    return pd.read_csv(FOLDER / "best_heads.csv")


def test_the_page_is_the_tables(table):
    assert (FOLDER / "README.md").read_text(encoding="utf-8") == CAPTION + as_markdown(table)


def test_every_row_stands_beside_its_controls(table):
    controls = ["offset_accuracy", "nearest", "chance", "decoy", "random_init", "random_embeddings"]
    assert table[controls].notna().all(axis=None)
    assert set(table["model"]) == set(MODELS)
    assert N_SEEDS >= 3
    assert (table["n_chosen_on"] > 0).all()
    assert table["accuracy"].between(table["accuracy_low"], table["accuracy_high"]).all()
