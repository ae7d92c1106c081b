"""How cost grows: counts by hand on a model of a moment."""

import pytest

from analyses.engine_cost import as_markdown, growth
from interp.models.shapes import Shape

TINY = Shape(n_layers=2, n_heads=2, n_kv_heads=2, width=16, mlp=32, n_vocabulary=64)


@pytest.fixture(scope="module")
def table():
    return growth(TINY, 4, 8, n_doublings=1, n_runs=1)


def row(table, scope, factor, value):
    (found,) = table[
        (table["scope"] == scope) & (table["factor"] == factor) & (table["value"] == value)
    ].to_dict(orient="records")
    return found


def test_rows_are_counted_by_hand(table):
    """Four prompts, a pair alike in its first four tokens: 2 × (4 + 2 × 4) nodes, 4 × 4 rows."""
    found = row(table, "everywhere", "items", 4)
    assert found["heads"] == 4
    assert found["rows"] == 16
    # two heads are carried through two layers, two through one
    assert found["layer_rows"] == 24 * 2 + 16 * (2 * 2 + 2 * 1)
    assert row(table, "query", "tokens", 16)["rows"] == 4


def test_twice_the_items_or_tokens_are_twice_the_work(table):
    for factor, value in (("items", 8), ("tokens", 16)):
        assert row(table, "everywhere", factor, value)["layer_rows_growth"] == pytest.approx(1.0)
    # at the query a longer prompt makes the intact run longer and nothing else
    assert 0 < row(table, "query", "tokens", 16)["layer_rows_growth"] < 1


def test_twice_the_layers_are_more_than_twice_the_work(table):
    """Eight heads instead of four, carried through 4, 3, 2 and 1 layers."""
    found = row(table, "everywhere", "layers", 4)
    assert found["layer_rows"] == 24 * 4 + 16 * 2 * (4 + 3 + 2 + 1)
    assert found["layer_rows_growth"] > 1


def test_the_page_has_every_row(table):
    assert (table["seconds"] > 0).all()
    assert len(as_markdown(table).splitlines()) == 2 + len(table)
