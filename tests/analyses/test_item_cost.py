"""Items are made in seconds: which families are asked, and that none takes long."""

import json
import subprocess
import sys
from pathlib import Path

from analyses import item_cost


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


_MEASURED = """
import json, time
from analyses.item_cost import N_PAIRS
from interp import load
from interp.tasks import build

tokenizer, seconds = load("minilm-l6").tokenizer, {}
for name, corruption in json.loads(input()):
    start = time.process_time()
    items = build(name, tokenizer, n_pairs=N_PAIRS, seed=0, corruption=corruption)
    seconds[name] = time.process_time() - start
    assert len(items) == 2 * N_PAIRS
print(json.dumps(seconds))
"""


def test_the_costliest_families_take_less_than_ten_seconds():
    """In a process of its own, without the checks of shapes that tests run under.

    In seconds of that process, which other work on the machine does not lengthen.
    """
    asked = [
        ("coreference/number", "role_flip"),
        ("agreement/pp2", "feature_flip"),
        ("long_range/recall/16/fixed_source", "removal"),
    ]
    out = subprocess.run(
        [sys.executable, "-c", _MEASURED],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    ).stdout
    seconds = json.loads(out.splitlines()[-1])
    assert list(seconds) == [name for name, _ in asked]
    assert max(seconds.values()) < item_cost.MOST_SECONDS
