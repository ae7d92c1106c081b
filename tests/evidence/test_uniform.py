"""A head that looks evenly: planted, and by the bridge's own hooks."""

import numpy as np
import pytest
import torch

from interp.effects import LOGIT_DIFFERENCE
from interp.effects.scopes import Scope
from interp.evidence import pattern_change, uniform_pattern
from interp.heads import Head
from interp.hooks import uniform_pattern as even_hooks


@pytest.mark.parametrize(
    ("name", "head", "kept"),
    [
        ("diffuse", Head(0, 0), 1),  # it looked evenly before
        ("decoys", Head(0, 0), 0),  # both names are in both texts
        ("relay", Head(1, 0), 1 / 6),  # one of six tokens has what it took whole
        ("wrong-edge", Head(0, 0), 2 / 7),  # one of seven, of which it took a half
    ],
)
def test_what_is_kept_of_an_effect(planted, name, head, kept):
    model, batch = planted(name)
    found = uniform_pattern(model, [batch], [head]).iloc[0]
    assert found["effect"] == pytest.approx(1, abs=1e-3)
    assert found["kept"] == pytest.approx(kept, abs=1e-3)
    assert found["effect_uniform"] == pytest.approx(kept, abs=1e-3)
    assert found["low"] <= found["kept"] <= found["high"]


def test_without_an_effect_there_is_no_share_of_it(planted):
    model, batch = planted("decoys")
    found = uniform_pattern(model, [batch], [Head(0, 1), Head(0, 2)])
    assert found["effect"].to_numpy() == pytest.approx(0, abs=1e-3)
    assert found[["kept", "low", "high"]].isna().all(axis=None)


def test_the_kept_effect_is_that_of_the_bridge(tiny, sure):
    """Second route: its own hook makes patterns even, and what z was there is put in at z."""
    for head in (Head(1, 2), Head(3, 0)):
        found = uniform_pattern(tiny, sure, [head]).iloc[0]
        lost, gap = zip(*(_by_bridge(tiny, batch, head) for batch in sure), strict=True)
        expected = np.concatenate(lost).mean() / np.concatenate(gap).mean()
        assert found["effect_uniform"] == pytest.approx(expected, abs=1e-4)


def _by_bridge(model, batch, head):
    rows, point = torch.arange(len(batch)), f"blocks.{head.layer}.attn.hook_z"
    given = []

    def keep(z, hook):
        given.append(z[:, :, head.head].clone())
        return z

    def put(z, hook, *, row):
        z = z.clone()
        z[rows, batch.query, head.head] = given[0][row, batch.query]
        return z

    def difference(hooks):
        logits = model.bridge.run_with_hooks(batch.ids, fwd_hooks=hooks)[rows, batch.query]
        return LOGIT_DIFFERENCE(logits, batch.answer, batch.foil).numpy()

    with torch.inference_mode():
        model.bridge.run_with_hooks(batch.ids, fwd_hooks=[*even_hooks([head]), (point, keep)])
        own, donor = (
            difference([(point, lambda z, hook, row=row: put(z, hook, row=row))])
            for row in (rows, batch.donor)
        )
        logits = model.bridge(batch.ids)[rows, batch.query]
        intact = LOGIT_DIFFERENCE(logits, batch.answer, batch.foil)
        corrupt = LOGIT_DIFFERENCE(logits[batch.donor], batch.answer, batch.foil)
    return own - donor, (intact - corrupt).numpy()


def test_an_edit_that_does_not_act_is_refused(planted, monkeypatch):
    model, batch = planted("decoys")
    monkeypatch.setattr("interp.evidence.uniform._levelled", lambda scores: scores)
    with pytest.raises(ValueError) as error:
        uniform_pattern(model, [batch], [Head(0, 0)])
    assert str(error.value) == (
        "the pattern of layer 0 did not become uniform (weights are up to 1 apart), so the edit "
        "of its scores did not act; this model cannot be asked whether its pattern matters."
    )


def test_a_query_modifier_turns_the_head_above_it(planted):
    """By hand: told of the other gender, the reader looks at the other name: 1 → 0."""
    model, batch = planted("query-modifier")
    for scope in (Scope.EVERYWHERE, Scope.QUERY):
        found = pattern_change(model, [batch], [Head(0, 0), Head(1, 0)], scope=scope, seed=0)
        asks, finds = found.iloc[0], found.iloc[1]
        assert asks["of"] == "L1H0"
        assert asks["attention"] == pytest.approx(1, abs=1e-3)
        assert [asks["change"], asks["low"], asks["high"]] == pytest.approx([-1] * 3, abs=1e-3)
        assert asks["p"] < 0.01
        assert finds["of"] == ""
        assert found.loc[1, ["attention", "change", "low", "high", "p"]].isna().all()


def test_who_changes_a_key_is_seen_everywhere_and_not_at_the_query(planted):
    """The attractor is marked where it stands: without the mark the verb's head looks there too."""
    model, batch = planted("agreement")
    anywhere, at_query = (
        pattern_change(model, [batch], [Head(0, 0)], scope=scope, seed=0).iloc[0]
        for scope in (Scope.EVERYWHERE, Scope.QUERY)
    )
    assert anywhere["of"] == "L1H0"
    assert anywhere["change"] == pytest.approx(-1, abs=1e-3)
    assert at_query["change"] == pytest.approx(0, abs=1e-3)
    assert at_query["p"] > 0.5


def test_a_head_that_changes_no_pattern_is_not_significant(planted):
    model, batch = planted("backup")
    found = pattern_change(model, [batch], [Head(0, 0)], scope=Scope.EVERYWHERE, seed=0).iloc[0]
    assert found["change"] == pytest.approx(0, abs=1e-3)


def test_changes_are_those_of_the_bridge(tiny, items):
    """Second route: its cached pattern, with z of the counterfactual put in."""
    batches = tiny.encode(items)
    head = Head(1, 1)
    found = pattern_change(tiny, batches, [head], scope=Scope.EVERYWHERE, seed=0).iloc[0]
    other = tiny.head(found["of"])
    before, after = [], []
    for batch in batches:
        rows = torch.arange(len(batch))
        z, pattern = f"blocks.{head.layer}.attn.hook_z", f"blocks.{other.layer}.attn.hook_pattern"

        def to_source(cache, batch=batch, rows=rows, pattern=pattern):
            mass = cache[pattern][rows, other.head, batch.query] * batch.source
            return mass.sum(-1).tolist()

        with torch.inference_mode():
            _, cache = tiny.bridge.run_with_cache(batch.ids)
            given = cache[z][batch.donor, :, head.head]

            def put(tensor, hook, given=given):
                tensor = tensor.clone()
                tensor[:, :, head.head] = given
                return tensor

            with tiny.bridge.hooks(fwd_hooks=[(z, put)]):
                _, edited = tiny.bridge.run_with_cache(batch.ids)
        before += to_source(cache)
        after += to_source(edited)
    assert found["attention"] == pytest.approx(np.mean(before), abs=1e-5)
    assert found["change"] == pytest.approx(np.mean(after) - np.mean(before), abs=1e-5)
    assert other.layer > head.layer
    assert abs(found["change"]) > 1e-4


def test_requests_that_cannot_be_met_are_refused(planted):
    model, batch = planted("decoys")
    for heads, scope, message in (
        ([], Scope.QUERY, "expected at least one head whose influence to look at, got none."),
        (
            [Head(0, 0)],
            Scope.EDGE,
            "a head is removed everywhere or at the query to see which patterns change, got "
            "'edge'.",
        ),
    ):
        with pytest.raises(ValueError) as error:
            pattern_change(model, [batch], heads, scope=scope, seed=0)
        assert str(error.value) == message
