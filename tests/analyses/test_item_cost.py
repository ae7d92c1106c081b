"""Items are made in seconds: which families are asked, and that none takes long."""

import time

import pytest

from analyses import item_cost
from interp.items import Corruption
from interp.tasks import build


def test_short_families_are_those_of_few_tokens(smollm2):
    """All of agreement and coreference; at a distance those that have room within 32 tokens."""
    names = set(item_cost.short_families(smollm2.tokenizer))
    assert {"agreement", "coreference", "long_range", "agreement/dist-16"} <= names
    assert {"coreference/binding", "long_range/far_agreement/16/fixed_source"} <= names
    assert not any(name.endswith(("/fixed_query", "/32/fixed_source")) for name in names)
    assert len([name for name in names if name.count("/") == 1]) == 14 + 8


def test_a_row_for_each_family_in_seconds(smollm2, monkeypatch):
    monkeypatch.setattr(item_cost, "N_PAIRS", 2)
    monkeypatch.setattr(item_cost, "short_families", lambda _: ["agreement/adv", "long_range"])
    table = item_cost.costs("smollm2-135m", smollm2.tokenizer)
    assert list(table["family"]) == ["agreement/adv", "long_range"]
    assert table["seconds"].between(1e-4, 10).all()


@pytest.mark.parametrize(
    ("name", "corruption"),
    [
        ("coreference/number", Corruption.ROLE_FLIP),
        ("agreement/pp2", Corruption.FEATURE_FLIP),
        ("long_range/recall/8/fixed_source", Corruption.REMOVAL),
    ],
)
def test_the_costliest_families_take_less_than_ten_seconds(name, corruption, smollm2):
    """In seconds of this process, which other work on the machine does not change."""
    start = time.process_time()
    items = build(name, smollm2.tokenizer, n_pairs=512, seed=0, corruption=corruption)
    assert len(items) == 1024
    assert time.process_time() - start < item_cost.MOST_SECONDS
