"""The table of families, and the routes it compares."""

import numpy as np
import pytest
import torch

from interp.models import parity as table
from interp.models.families import small_ids, small_model
from interp.models.parity import LEAST_MOVEMENT, LIMITS, PARITY_COLUMNS, measure, parity, subjects
from interp.models.plain import Call, attend
from interp.models.second_route import formula_z, output_projections
from tests.models.conftest import BY_NAME, RUNNING, each, own_of, plain_of

SUBJECTS = {subject.name: subject for subject in subjects()}


@each(RUNNING)
def test_every_edit_does_what_the_mathematics_says(name):
    figures = measure(SUBJECTS[name])
    assert {figure: value for figure, value in figures.items() if figure != "live"} == {
        figure: pytest.approx(0, abs=limit) for figure, limit in LIMITS.items()
    }
    assert figures["live"] > LEAST_MOVEMENT


def test_there_are_enough_rows():
    assert len(RUNNING) >= 36


def test_the_table_shows_what_transformer_lens_does_beside():
    shown = parity(["gpt2", "bert", "distilbert", "bart"]).set_index("variant")
    assert [*shown.reset_index().columns] == PARITY_COLUMNS
    assert shown["passes"].to_dict() == {
        "gpt2": True, "gpt2, unscaled": True, "gpt2, scaled by layer": True, "bert": True,
        "bert, headless": True, "distilbert": True, "bart": False, "minilm-l6": True,
    }  # fmt: skip
    assert "load the encoder alone" in shown.loc["bart", "reason"]
    assert shown.loc["gpt2", ["tl_boots", "tl_pattern_acts", "tl_scores_act"]].all()
    assert shown.loc["gpt2, unscaled", "tl_output"] > 0.1  # it ignores the flag
    assert not shown.loc["bert", ["tl_pattern_acts", "tl_scores_act"]].any()
    assert not shown.loc["distilbert", "tl_boots"]
    assert shown.loc["distilbert", "tl_says"].startswith("ValueError")


def test_progress_is_told_of_each_variant():
    from contextlib import contextmanager

    heard = []

    @contextmanager
    def progress(label, total):
        heard.append((label, total))
        yield heard.append

    parity(["llama, grouped", "qwen2"], progress=progress)
    assert heard == [("parity", 2), 1, 1]


def test_an_unknown_name_has_its_nearest():
    with pytest.raises(ValueError, match="no family or variant 'lama'; did you mean 'llama'"):
        parity(["lama"])


def test_a_failure_is_named(monkeypatch):
    monkeypatch.setattr(table, "beside", lambda fresh, name: {})
    monkeypatch.setattr(
        table, "measure",
        lambda subject: {"output": 1e-7, "edits": 0.5, "zeroed": 0.0, "padding": np.nan, "live": 0},
    )  # fmt: skip
    row = parity(["opt"]).iloc[0]
    assert not row["passes"]
    assert row["reason"] == (
        "edits is 0.5, allowed 1e-05; padding is nan, allowed 1e-05; "
        "an edit moved the output by 0 only"
    )


def test_the_formula_by_hand():
    """One head, two keys whose scores differ by log 3: a quarter and three quarters."""
    call = Call(
        layer=0,
        query=torch.tensor([[[[1.0]]]]),
        key=torch.tensor([[[[0.0], [np.log(3)]]]]),
        value=torch.tensor([[[[4.0], [8.0]]]]),
        options={"scale": 1.0, "mask": None},
    )
    assert formula_z(call, lambda name, array: array).item() == pytest.approx(7)
    with_sink = Call(call.layer, call.query, call.key, call.value,
                     {"scale": 1.0, "sinks": torch.tensor([np.log(4)])})  # fmt: skip
    assert formula_z(with_sink, lambda name, array: array).item() == pytest.approx(3.5)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gpt2", "transformer.h.{}.attn.c_proj"),
        ("bloom", "transformer.h.{}.self_attention.dense"),
        ("bert", "bert.encoder.layer.{}.attention.output.dense"),
        ("llama", "model.layers.{}.self_attn.o_proj"),
    ],
)
def test_the_output_projection_is_found_by_its_input(name, expected):
    own, ids, z = own_of(name), small_ids(2), []
    plain = plain_of(name)
    with plain.attending(lambda call: z.append(attend(call)) or z[-1]):
        plain(ids)
    for layer, found in enumerate(output_projections(own, ids, z)):
        assert found.module is own.get_submodule(expected.format(layer))
        assert found.call == 0


def test_a_projection_that_is_not_there_is_an_error():
    with pytest.raises(ValueError, match="no module takes z as it is"):
        output_projections(
            small_model(BY_NAME["gpt2"]), small_ids(2), [torch.ones(2, 4, 12, 8) * 77]
        )
