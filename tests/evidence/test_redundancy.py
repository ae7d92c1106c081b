"""Conditional effects once backups are removed: planted, and by forwards of the bridge."""

import numpy as np
import pandas as pd
import pytest
import torch

from interp.contrast import Thresholds
from interp.effects import Scope, Zero
from interp.evidence import Fold, mean_folds, redundancy
from interp.evidence.rises import direct_rises
from interp.heads import Head
from interp.models.direct import value_readings
from interp.models.record import record
from interp.models.routes import Route
from interp.stats import adjusted_p

USUAL = Thresholds()


def by_head(model, folds, heads, *, among=(), scope=Scope.EVERYWHERE, thresholds=USUAL):
    return redundancy(model, folds, heads, among=among, scope=scope, thresholds=thresholds)


def without(planted, name, heads, *, baseline=None, **choices):
    model, batch = planted(name)
    folds = [Fold(batches=[batch], baseline=baseline)] if baseline else mean_folds(model, [batch])
    return by_head(model, folds, heads, **choices)


def test_either_of_an_or_is_the_backup_of_the_other(planted):
    """By hand: each alone 0 and directly 0; without the other, each is all of it."""
    either = [Head(0, 0), Head(0, 1)]
    found = without(planted, "either", either)
    assert found["backups"].tolist() == ["L0H1", "L0H0"]
    assert found["alone"].to_numpy() == pytest.approx(0, abs=1e-3)
    assert found["conditional"].to_numpy() == pytest.approx(1, abs=1e-3)
    assert (found["low"] > 0.99).all()
    assert (found["p"] < 0.001).all()
    one = without(planted, "either", either[:1], among=planted("either")[0].heads)
    assert one["backups"].tolist() == ["L0H1"]


def test_of_an_and_there_is_no_backup(planted):
    found = without(planted, "both", [Head(0, 0), Head(0, 1)])
    assert found["backups"].tolist() == ["", ""]
    assert found["alone"].to_numpy() == pytest.approx(1, abs=1e-3)
    assert found[["conditional", "low", "high", "p"]].isna().all(axis=None)


def test_a_backup_speaks_up_under_zero_and_stays_silent_under_a_mean(planted):
    """By hand, under zero: intact .5, all removed 0. The primary alone 0; without its backup 1,
    which is twice the whole, for the negative head takes half of it back."""
    found = without(planted, "backup", [Head(0, 0)], baseline=Zero(), scope=Scope.QUERY)
    assert found["backups"].tolist() == ["L1H0"]
    assert found["alone"].to_numpy() == pytest.approx(0, abs=1e-3)
    assert found["conditional"].to_numpy() == pytest.approx(2, abs=1e-3)
    averaged = without(planted, "backup", [Head(0, 0)], scope=Scope.QUERY)
    assert averaged["backups"].tolist() == [""]
    assert averaged["alone"].to_numpy() == pytest.approx(2, abs=1e-3)


def test_a_head_that_erases_is_no_backup(planted):
    """Without the erased head its eraser says 1 more, from −1 to 0; nothing stands in."""
    for baseline in (None, Zero()):
        found = without(
            planted, "eraser", [Head(0, 1)], among=planted("eraser")[0].heads, baseline=baseline,
            scope=Scope.QUERY,
        )  # fmt: skip
        assert found["backups"].tolist() == [""]
        assert found["alone"].to_numpy() == pytest.approx(0, abs=1e-3)
    model, batch = planted("eraser")
    rises = direct_rises(model, [batch], [Head(0, 1)], scope=Scope.QUERY, baseline=Zero())
    assert rises.mean(0)[0, 1, 0] == pytest.approx(1, abs=1e-3)


def test_a_norm_that_rescales_is_no_backup(planted):
    """Without the weak head the stream is shorter, and the norm lets the strong one say more."""
    found = without(planted, "norm-repair", [Head(0, 1)], baseline=Zero(), scope=Scope.QUERY)
    assert found["backups"].tolist() == [""]
    assert found["alone"].to_numpy() == pytest.approx(0, abs=1e-3)


def test_decoys_have_no_backups(planted):
    found = without(planted, "decoys", [Head(0, 1), Head(0, 2), Head(0, 3)])
    assert found["backups"].tolist() == ["", "", ""]


@pytest.mark.parametrize("scope", [Scope.QUERY, Scope.EVERYWHERE])
def test_rises_are_those_of_whole_forwards(tiny, items, scope):
    """Second route: the plain model hooked at z, its heads' outputs read by the intact norm."""
    batches = tiny.encode(items)
    heads = [Head(2, 3), Head(0, 1)]
    found = direct_rises(tiny, batches, heads, scope=scope, baseline=Zero())
    expected = np.concatenate([_rises(tiny, batch, heads, scope) for batch in batches])
    assert np.abs(expected).max() > 0.1
    assert found == pytest.approx(expected, abs=1e-4 * float(np.abs(expected).max()))


def _rises(model, batch, heads, scope):
    readings = value_readings(record(model.plain, batch, keep=()))
    rows = torch.arange(len(batch))

    def said(removed):
        seen = []

        def edit(layer, name, tensor):
            if name != "z":
                return tensor
            if removed is not None and layer == removed.layer:
                tensor = tensor.clone()
                if scope is Scope.QUERY:
                    tensor[rows, removed.head, batch.query] = 0
                else:
                    tensor[:, removed.head] = 0
            seen.append((tensor[rows, :, batch.query] * readings[layer]).sum(-1))
            return tensor

        with torch.inference_mode(), model.plain.hooked(edit):
            model.plain(batch.ids)
        return torch.stack(seen, dim=1).numpy()

    found = np.stack([said(head) - said(None) for head in heads], axis=1)
    for place, head in enumerate(heads):
        found[:, place, : head.layer + 1] = 0
    return found


def test_p_values_count_every_head_that_was_asked_about(tiny, sure):
    """Holm of the p of each asked by itself, with 1 for a head that has no backup."""
    folds = [Fold(batches=sure, baseline=Zero())]
    heads = tiny.heads[:6]
    choices = {"among": heads, "scope": Scope.QUERY, "thresholds": Thresholds(matters=1e-4)}
    found = by_head(tiny, folds, heads, **choices)
    alone = pd.concat([by_head(tiny, folds, [head], **choices) for head in heads])
    assert found["backups"].tolist() == alone["backups"].tolist()
    has_backup = (found["backups"] != "").to_numpy()
    assert has_backup.any()
    expected = adjusted_p(alone["p"].fillna(1).to_numpy())[has_backup]
    assert found["p"][has_backup].to_numpy() == pytest.approx(expected)
    for column in ("p", "conditional", "low", "high"):
        assert (found[column].notna() == has_backup).all()


def test_requests_that_cannot_be_met_are_refused(planted, monkeypatch):
    model, batch = planted("decoys")
    folds = [Fold(batches=[batch], baseline=Zero())]
    with pytest.raises(ValueError) as error:
        by_head(model, folds, [])
    assert str(error.value) == "expected at least one head to look for backups of, got none."
    monkeypatch.setattr(
        "interp.evidence.rises.route",
        lambda plain: Route(shares_prefixes=False, by_layers=False, reason="switched off"),
    )
    with pytest.raises(ValueError) as error:
        by_head(model, folds, [Head(0, 0)])
    assert str(error.value) == (
        "what later heads say is read layer by layer, and planted-decoys is run whole (switched "
        "off); backups are not looked for in this model."
    )
