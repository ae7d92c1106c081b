"""Attention to the source: by hand on planted patterns, and against the bridge's cache."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from interp.measures.relations import log_ratio, relation_scores, sink_corrected
from interp.models.record import record


@pytest.fixture
def recorded(tiny, items):
    (batch,) = tiny.encode(items[:4])
    return record(tiny.plain, batch)


def planted(recorded, rows):
    """The record with one head's attention rows written in by hand; all other heads are even."""
    pattern = torch.full_like(recorded.pattern[0], 1 / recorded.pattern[0].shape[-1])
    pattern[:, 1] = torch.tensor(rows)
    return replace(recorded, pattern=[pattern, *recorded.pattern[1:]])


def values(table, measure, head=1):
    rows = table.query("measure == @measure and layer == 0 and head == @head")
    return rows["value"].to_numpy()


def test_by_hand(recorded):
    """Positions: 0 prefix, 1 The, 2 first noun, 3 verb or preposition, 4 the, 5 second noun.

    Items a have the first noun as source, items b the second.
    """
    rows = [
        [0.2, 0.0, 0.7, 0.0, 0.0, 0.1],  # p0.a: .7 on its source
        [0.2, 0.0, 0.1, 0.0, 0.0, 0.7],  # p0.b: .7 on its source
        [0.5, 0.0, 0.4, 0.0, 0.0, 0.1],  # p1.a: a head that looks at the first noun
        [0.5, 0.0, 0.4, 0.0, 0.0, 0.1],  # p1.b: whatever its role
    ]
    table = relation_scores(planted(recorded, rows))
    assert values(table, "raw") == pytest.approx([0.7, 0.7, 0.4, 0.1])
    assert values(table, "sink_mass") == pytest.approx([0.2, 0.2, 0.5, 0.5])
    assert values(table, "sink_corrected") == pytest.approx([0.875, 0.875, 0.8, 0.2])
    assert values(table, "margin") == pytest.approx([0.6, 0.6, 0.3, -0.3])
    assert values(table, "cas") == pytest.approx([0.6, 0.6, 0.0, 0.0])


def test_the_log_ratio_by_hand(recorded):
    """.7 on the source over .1 on the distractor: log 7; nothing over nothing: 0."""
    rows = [[0.2, 0.0, 0.7, 0.0, 0.0, 0.1], [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]] * 2
    found = log_ratio(planted(recorded, rows))[:, 0, 1].tolist()
    assert found == pytest.approx([math.log(7), 0.0] * 2, abs=1e-4)


def test_a_positional_head_has_no_selectivity(recorded):
    """CAS is 0 by construction for attention that does not depend on the role."""
    rows = [[0.0, 0.0, 0.9, 0.1, 0.0, 0.0]] * 4
    table = relation_scores(planted(recorded, rows))
    assert np.mean(values(table, "cas")) == pytest.approx(0, abs=1e-7)
    assert np.mean(values(table, "raw")) == pytest.approx(0.45)


def test_raw_is_the_bridges_pattern_summed_over_the_source(tiny, items):
    (batch,) = tiny.encode(items)
    table = relation_scores(record(tiny.plain, batch))
    with torch.inference_mode():
        _, cache = tiny.bridge.run_with_cache(batch.ids)
    for layer in range(tiny.n_layers):
        row = cache[f"blocks.{layer}.attn.hook_pattern"][:, :, -1]
        for head in range(tiny.n_heads):
            expected = [row[i, head][batch.source[i]].sum().item() for i in range(len(batch))]
            found = table.query("measure == 'raw' and layer == @layer and head == @head")
            assert found["value"].to_numpy() == pytest.approx(expected, abs=1e-5)


def test_what_is_undefined_is_missing_and_counted(recorded, tiny, items):
    """No source, or a source that does not move: NaN and not 0."""
    without = [replace(item, source=(), distractors=()) for item in items[:4]]
    (batch,) = tiny.encode(without)
    table = relation_scores(record(tiny.plain, batch))
    counts = table.groupby("measure")["valid"].sum()
    n_values = len(batch) * len(tiny.heads)
    assert counts.to_dict() == {
        "raw": 0,
        "margin": 0,
        "cas": 0,
        "sink_corrected": 0,
        "sink_mass": n_values,
    }
    still = replace(recorded.batch, source=recorded.batch.source[[0, 0, 2, 2]])
    table = relation_scores(replace(recorded, batch=still))
    assert not table.query("measure == 'cas'")["valid"].any()
    assert table.query("measure == 'raw'")["valid"].all()


def test_a_row_that_is_all_sink_has_no_corrected_score():
    raw, sink = torch.tensor([[[0.0003, 0.3]]]), torch.tensor([[[0.9995, 0.5]]])
    found = sink_corrected(raw, sink)
    assert torch.isnan(found[0, 0, 0])
    assert found[0, 0, 1].item() == pytest.approx(0.6)


def test_one_row_an_observation(recorded):
    table = relation_scores(recorded)
    assert not table.duplicated(["measure", "layer", "head", "item_id"]).any()
    assert len(table) == 5 * 16 * 4
    assert isinstance(table, pd.DataFrame)
