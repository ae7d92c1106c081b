"""Single items in full: the model's patterns, the effects of the sweep, sums that add up."""

import numpy as np
import pytest
import torch

from interp import examples as module
from interp.effects.engine import sweep
from interp.examples import OTHERS, examples
from interp.models.direct import direct_logit_attribution
from interp.models.record import record
from interp.models.undefined import UndefinedError


@pytest.fixture(scope="module")
def batches(tiny, items):
    return tiny.encode(items)


@pytest.fixture(scope="module")
def effects(tiny, batches):
    return sweep(tiny, batches)


@pytest.fixture(scope="module")
def found(tiny, batches, effects):
    return examples(tiny, batches, effects)


def values(found, name, item_id):
    """One measure of an item as `[layer, head, key]`."""
    rows = found["example_attention"].query("item_id == @item_id")
    return rows[name].to_numpy().reshape(4, 4, -1)


def test_the_first_pair_of_each_template_is_there_in_both_directions(found, items):
    table = found["examples"]
    expected = [items[0], items[1], *(item for item in items if item.template_id == "near")][:4]
    assert set(table["item_id"]) == {item.item_id for item in expected}
    assert table.set_index("item_id").loc[items[0].item_id, "answer"] == items[0].answer_text


def test_attention_is_the_models_own_row(tiny, batches, found):
    for batch in batches:
        patterns = torch.stack(record(tiny.plain, batch).pattern, dim=1).numpy()
        for row, item in enumerate(batch.items):
            if item.item_id in set(found["examples"]["item_id"]):
                raw = values(found, "raw", item.item_id)
                np.testing.assert_allclose(raw, patterns[row], atol=1e-4)


def test_shares_add_up_to_1_and_what_is_projected_to_the_direct_attribution(tiny, batches, found):
    for name in ("raw", "norm_share"):
        sums = found["example_attention"].groupby(["item_id", "layer", "head"])[name].sum()
        np.testing.assert_allclose(sums, 1, atol=1e-3)
    for batch in batches:
        direct = direct_logit_attribution(tiny, batch).heads.numpy()
        for row, item in enumerate(batch.items):
            if item.item_id in set(found["examples"]["item_id"]):
                projected = values(found, "projected", item.item_id).sum(-1)
                np.testing.assert_allclose(projected, direct[row], atol=1e-3)


def test_effects_are_those_of_the_sweep(found, effects):
    """Second route: a merge instead of a pivot."""
    rows = effects[effects["item_id"].isin(found["examples"]["item_id"])]
    merged = found["example_effects"].merge(rows, on=["item_id", "layer", "head"])
    assert len(merged) == 4 * 16 * 3
    for scope, group in merged.groupby("scope"):
        np.testing.assert_allclose(group[f"effect_{scope}"], group["intact"] - group["edited"])
    outcome = found["examples"].merge(rows, on="item_id", suffixes=("", "_swept"))
    assert (outcome["intact"] == outcome["intact_swept"]).all()
    assert (outcome["corrupt"] == outcome["corrupt_swept"]).all()


def test_roles_stand_with_their_tokens(found, items):
    tokens = found["example_tokens"].query("item_id == @items[0].item_id")
    assert tokens["token"].tolist() == [
        "<|endoftext|>",
        "The",
        " farmer",
        " beside",
        " the",
        " senators",
    ]
    told = {
        name: tokens.loc[tokens[f"is_{name}"], "token"].tolist()
        for name in ("source", "distractor", "query", "special")
    }
    assert told == {
        "source": [" farmer"], "distractor": [" senators"], "query": [" senators"],
        "special": ["<|endoftext|>"],
    }  # fmt: skip


def test_of_a_long_prompt_roles_and_the_most_attended_stand_and_the_rest_is_one_sum(
    tiny, batches, effects, found, monkeypatch
):
    monkeypatch.setattr(module, "MOST_TOKENS", 4)
    short = examples(tiny, batches, effects)
    item = short["examples"].iloc[0]
    assert item["left_out"] == item["n_tokens"] - 4
    item_id = item["item_id"]
    whole = values(found, "raw", item_id)
    tokens = short["example_tokens"].query("item_id == @item_id")
    shown = tokens["position"].tolist()
    assert tokens[["is_source", "is_distractor", "is_query", "is_special"]].any().all()
    others = [place for place in range(whole.shape[-1]) if place not in shown]
    chosen = [
        place for place, row in zip(shown, tokens.to_numpy()[:, 3:], strict=True) if not row.any()
    ]
    assert whole[..., chosen].max() >= whole[..., others].max()
    for name in ("raw", "norm_share", "projected"):
        kept = values(short, name, item_id)
        np.testing.assert_allclose(kept[..., :-1], values(found, name, item_id)[..., shown])
        rest = values(found, name, item_id)[..., others].sum(-1)
        np.testing.assert_allclose(kept[..., -1], rest, atol=5e-4)
    last = short["example_attention"].groupby(["item_id", "layer", "head"])["position"].last()
    assert (last == OTHERS).all()


def test_there_is_room_for_so_many_and_always_for_one(tiny, batches, effects, monkeypatch):
    monkeypatch.setattr(module, "MOST_CELLS", 1)
    assert len(examples(tiny, batches, effects)["examples"]) == 2


def test_where_heads_do_not_add_up_to_the_logits_nothing_is_projected(
    tiny, batches, effects, monkeypatch
):
    def undefined(recorded):
        raise UndefinedError("not decomposable")

    monkeypatch.setattr(module, "value_readings", undefined)
    cells = examples(tiny, batches, effects)["example_attention"]
    assert cells["projected"].isna().all()
    assert cells[["raw", "norm_share"]].notna().all().all()
