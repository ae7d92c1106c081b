"""What a score must beat, on planted heads whose controls are known."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from interp.measures.controls import (
    CONTROLS,
    controls,
    even,
    every_second_pair,
    offset_level,
    swapped,
)
from interp.measures.relations import CAS, MARGIN, RAW, cas, chance, raw
from interp.models import load
from interp.models.record import record
from interp.planted import build
from tests.measures.conftest import bare_batch, recorded_family


def test_even_attention_is_the_sources_share_of_visible_keys(tiny, items):
    batches = tiny.encode(items)
    levels = [raw(even(record(tiny.plain, batch))) for batch in batches]
    assert torch.cat(levels).mean().item() == pytest.approx(chance(batches))


def test_even_attention_stays_within_a_window():
    """Of the last four keys one is the source, so a quarter; beyond the window nothing."""
    recorded = recorded_family("mistral")
    found = even(recorded).pattern[0]
    assert found[0, 0].tolist() == pytest.approx([0, 0, 0, 0, 0.25, 0.25, 0.25, 0.25])


def test_labels_exchanged_twice_are_as_before(tiny, items):
    recorded = record(tiny.plain, tiny.encode(items)[0])
    once = swapped(recorded)
    assert torch.equal(once.batch.source, recorded.batch.distractor)
    assert torch.equal(swapped(once).batch.source, recorded.batch.source)
    assert torch.allclose(MARGIN.of(once), -MARGIN.of(recorded), atol=1e-6)


def test_a_planted_head_beats_its_controls():
    """It attends to the source with all its weight: 1; to the distractor 0; chance is less."""
    model = load("planted/agreement")
    batches = model.encode(build("agreement").items)
    found = controls(model, batches, [RAW, MARGIN], n_seeds=2, seed=0)
    assert list(found["measure"].unique()) == ["raw", "margin"]
    table = found[found["measure"] == "raw"].set_index("control")["value"]
    assert list(table.index) == list(CONTROLS)
    assert table["measured"] == pytest.approx(1.0, abs=1e-3)
    assert table["label swap"] == pytest.approx(0.0, abs=1e-3)
    assert table["even"] == pytest.approx(chance(batches), abs=0.1)
    assert np.isnan(table["label swap, best head"])
    for control in CONTROLS[3:]:
        assert table[control] < 0.8, control
    margin = found[found["measure"] == "margin"].set_index("control")["value"]
    assert margin["measured"] == pytest.approx(1.0, abs=1e-3)
    assert margin["label swap"] == pytest.approx(-1.0, abs=1e-3)
    assert np.isnan(margin["fixed offset"])


def test_a_head_that_follows_the_role_beats_what_flipped_signs_give_the_best_of_all():
    """The planted head has a CAS of 1; no other has more than the best reaches by chance."""
    model = load("planted/agreement")
    batches = model.encode(build("agreement").items)
    table = controls(model, batches, [CAS], n_seeds=1, seed=0).set_index("control")
    assert table.loc["measured", "value"] == pytest.approx(1.0, abs=1e-3)
    own, largest = (
        table.loc[control, "value"] for control in ("label swap", "label swap, best head")
    )
    assert 0 < own <= largest < 0.9
    counted = ~every_second_pair(batches)
    scores = torch.cat([cas(record(model.plain, batch)) for batch in batches]).numpy()[counted]
    means = scores.mean(0)
    planted = np.unravel_index(means.argmax(), means.shape)
    assert table.loc["measured", "head"] == f"L{planted[0]}H{planted[1]}"
    means[planted] = 0
    assert means.max() < largest


def test_items_of_one_cluster_have_no_flips():
    """The pairs that are counted share their frame, so nothing is known of others."""
    model = load("planted/agreement")
    items = [replace(item, clusters=("one frame",)) for item in build("agreement").items]
    table = controls(model, model.encode(items), [CAS], n_seeds=1, seed=0).set_index("control")
    assert table.loc[["label swap", "label swap, best head"], "value"].isna().all()


def test_a_fixed_offset_by_hand():
    """Sources of the pairs (0, 1) and (2, 3) stand 2 and 1, 3 and 2 before the query."""
    batch = bare_batch()
    pairs = ("p", "p", "q", "q")
    items = tuple(
        replace(item, pair_id=pair) for item, pair in zip(batch.items, pairs, strict=True)
    )
    batch = replace(batch, items=items)
    chooses = every_second_pair([batch])
    assert chooses.tolist() == [True, True, False, False]
    # both of p have their source two before; of q one has
    assert offset_level([batch], chooses) == 0.5


def test_one_pair_is_too_few():
    with pytest.raises(ValueError) as error:
        offset_level([bare_batch()], np.ones(4, dtype=bool))
    assert str(error.value) == (
        "a control is chosen on some items and counted on others, got 4 of 4 to choose on; give "
        "two pairs or more."
    )
