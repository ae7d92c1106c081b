"""What decides a run: each setting changed by itself is another run; the machine is none."""

from dataclasses import replace

import pytest

from interp.contrast import Thresholds
from interp.effects.metrics import ANSWER_LOGIT
from interp.models import load
from interp.settings import Settings, deciding
from interp.store import fingerprint
from tests.conftest import agreement_pair

ITEMS = agreement_pair("farmer", "pilots", pair_id="p")
SETTINGS = Settings(task="agreement")


def decided(model, items=ITEMS, settings=SETTINGS):
    return fingerprint(deciding(model, items, settings))


@pytest.mark.parametrize(
    "change",
    [
        lambda model: replace(model, weights_hash="other"),
        lambda model: replace(model, name="another"),
        lambda model: model.with_prefix("none"),
    ],
)
def test_another_model_or_prefix_is_another_run(tiny, change):
    assert decided(change(tiny)) != decided(tiny)


def test_another_dtype_is_another_run(tiny, tiny_folder):
    assert decided(load(str(tiny_folder), dtype="bfloat16")) != decided(tiny)


@pytest.mark.parametrize(
    "items",
    [
        ITEMS[::-1],
        (replace(ITEMS[0], answer_text=" was"), ITEMS[1]),
        (replace(ITEMS[0], source=ITEMS[0].distractors), ITEMS[1]),
    ],
)
def test_other_items_are_another_run(tiny, items):
    assert decided(tiny, items=items) != decided(tiny)


@pytest.mark.parametrize(
    "change",
    [
        {"task": "coreference"},
        {"preset": "standard"},
        {"seed": 1},
        {"metric": ANSWER_LOGIT},
        {"thresholds": Thresholds(matters=0.1)},
    ],
)
def test_each_setting_changed_by_itself_is_another_run(tiny, change):
    assert decided(tiny, settings=replace(SETTINGS, **change)) != decided(tiny)


def test_the_same_settings_are_the_same_run(tiny):
    assert decided(tiny, agreement_pair("farmer", "pilots", pair_id="p")) == decided(tiny)
