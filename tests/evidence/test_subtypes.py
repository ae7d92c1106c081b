"""Why idle heads are idle, and what else a removal hurts: planted, and by other routes."""

from math import e, exp, log, sqrt

import numpy as np
import pandas as pd
import pytest
import torch

from interp.behaviour import item_table
from interp.contrast import Thresholds
from interp.effects import LOGIT_DIFFERENCE, Scope, Zero
from interp.effects.repair import direct_effects
from interp.evidence import (
    Control,
    Fold,
    NeutralText,
    idle_subtype,
    mean_folds,
    neutral_text,
    specificity,
)
from interp.evidence.neutral import losses
from interp.heads import Head
from interp.models.undefined import UndefinedError
from interp.planted.words import VOCABULARY

USUAL = Thresholds()
TEXTS = ("ba be bi bo", "da de di do", "fa fe fi fo", "ga ge gi go")


def said(model, batches):
    """Direct effects as shares of the gap, by head."""
    gap = pd.concat([item_table(model, [batch], LOGIT_DIFFERENCE) for batch in batches])
    direct = direct_effects(model, batches).groupby(["layer", "head"])["direct"].mean()
    return direct / (gap["clean"] - gap["corrupt"]).mean()


def test_decoys_are_idle_each_in_its_own_way(planted):
    """By hand: lengths 1, 0, 3, .7 √16, .7 and 0 of six heads, 1.25 on average."""
    model, batch = planted("decoys")
    found = idle_subtype(
        model, [batch], model.heads[:5], direct=said(model, [batch]), thresholds=USUAL
    )
    assert found["subtype"].tolist() == [
        "", "writes nothing", "unread direction", "constant writer", "constant writer",
    ]  # fmt: skip
    expected = [1, 0, 3, 0.7 * 4, 0.7]
    assert found["written"].tolist() == pytest.approx(expected, abs=1e-3)
    assert found["relative"].tolist() == pytest.approx([each / 1.25 for each in expected], abs=1e-3)
    assert found["moved"].tolist() == pytest.approx([sqrt(2), 0, sqrt(2), 0, 0], abs=1e-3)
    assert found["direct"].tolist() == pytest.approx([1, 0, 0, 0, 0], abs=1e-3)


def test_lengths_are_those_of_the_bridge(tiny, items):
    """Second route: pattern, values and output matrix of TransformerLens."""
    batches = tiny.encode(items)
    head = Head(2, 1)
    found = idle_subtype(tiny, batches, [head], direct=said(tiny, batches), thresholds=USUAL).iloc[
        0
    ]
    written, own, apart = [], [], []
    for batch in batches:
        rows = torch.arange(len(batch))
        with torch.inference_mode():
            _, cache = tiny.bridge.run_with_cache(batch.ids)
            output = tiny.bridge.blocks[head.layer].attn.W_O[head.head]
            names = {n: f"blocks.{head.layer}.attn.hook_{n}" for n in ("pattern", "v", "z")}
            pattern = cache[names["pattern"]][rows, head.head, batch.query]
            value = cache[names["v"]][:, :, head.head // 2]
            at_query = cache[names["z"]][rows, batch.query, head.head] @ output
            taken = ((pattern * batch.edge)[..., None] * value).sum(1) @ output
            written += taken.norm(dim=-1).tolist()
            own += at_query.norm(dim=-1).tolist()
            apart += (at_query - at_query[batch.donor]).norm(dim=-1).tolist()
    assert found["written"] == pytest.approx(np.mean(written), rel=1e-4)
    assert found["moved"] == pytest.approx(np.mean(apart) / np.mean(own), rel=1e-4)


def twice(model, texts):
    return torch.tensor([model.tokens(f"{text} {text}").ids for text in texts])


def test_neutral_text_by_hand(planted):
    """Induction says the next word from the second copy on: 3 of 8 words at logit 1, the others at
    0, where the document separator has ¼. All that is lost is the induction head's."""
    model, _ = planted("induction")
    text = NeutralText(ids=twice(model, TEXTS[:2]), reference=twice(model, TEXTS[2:]))
    n_others = len(VOCABULARY) - 2
    unsure, sure = log(1 + n_others + exp(0.25)), log(e + n_others + exp(0.25)) - 1
    intact = losses(model, text, [[]])
    assert intact == pytest.approx((5 * unsure + 3 * sure) / 8, abs=1e-4)
    found = specificity(model, [Head(1, 0), Head(0, 1)], text=text, controls={})
    by_head = found.set_index(["layer", "head"])
    assert by_head.loc[(1, 0), "effect"] == pytest.approx(1, abs=1e-3)
    assert by_head.loc[(0, 1), "effect"] == pytest.approx(0, abs=1e-3)
    assert found["control"].unique().tolist() == ["neutral text"]


def test_losses_without_heads_are_those_of_the_bridge(tiny):
    """Second route: hooks at z of the bridge, and its own logits."""
    text = neutral_text(tiny, n_texts=4, n_tokens=12, seed=0)
    heads = [Head(1, 2), Head(3, 0)]
    found = losses(tiny, text, [heads])[:, 0]
    with torch.inference_mode():
        _, cache = tiny.bridge.run_with_cache(text.reference)

        def put(z, hook, *, head):
            z = z.clone()
            z[:, :, head.head] = cache[f"blocks.{head.layer}.attn.hook_z"][:, :, head.head].mean(0)
            return z

        hooks = [
            (f"blocks.{head.layer}.attn.hook_z", lambda z, hook, head=head: put(z, hook, head=head))
            for head in heads
        ]
        logits = tiny.bridge.run_with_hooks(text.ids, fwd_hooks=hooks)[:, :-1]
    said = logits.log_softmax(-1).gather(2, text.ids[:, 1:, None])[..., 0]
    assert found == pytest.approx(-said.mean(1).numpy(), abs=1e-4)
    assert np.abs(found - losses(tiny, text, [[]])[:, 0]).max() > 1e-3


def test_neutral_texts_are_drawn_by_their_seed_and_differ(tiny):
    one, again, other = (
        neutral_text(tiny, n_texts=6, n_tokens=20, seed=seed) for seed in (0, 0, 1)
    )
    assert torch.equal(one.ids, again.ids)
    assert not torch.equal(one.ids, other.ids)
    rows = torch.cat([one.ids, one.reference])
    assert rows.shape == (12, 20 + len(tiny.prefix.before))
    assert len(torch.unique(rows, dim=0)) == 12
    assert "wind" in tiny.tokenizer.decode(rows.flatten())


def test_no_neutral_text_where_the_tokenizer_does_not_know_it(planted):
    model, _ = planted("induction")
    with pytest.raises(UndefinedError, match="^the tokenizer does not know all words of 'The "):
        neutral_text(model, n_texts=2, n_tokens=8, seed=0)


def test_a_control_task_has_its_own_scale(planted):
    """The induction head is all of the metric there, as of the text; a head at rest is nothing."""
    model, batch = planted("induction")
    text = NeutralText(ids=twice(model, TEXTS[:2]), reference=twice(model, TEXTS[2:]))
    controls = {"recall": Control(folds=mean_folds(model, [batch]), scope=Scope.QUERY)}
    found = specificity(model, [Head(1, 1), Head(1, 0)], text=text, controls=controls)
    assert found["control"].tolist() == ["neutral text", "recall"] * 2
    assert found["head"].tolist() == [0, 0, 1, 1]
    assert found["effect"].tolist() == pytest.approx([1, 1, 0, 0], abs=1e-3)


def test_requests_that_cannot_be_met_are_refused(planted):
    model, batch = planted("decoys")
    text = NeutralText(ids=batch.ids[:8], reference=batch.ids[8:16])
    control = Control(folds=[Fold(batches=[batch], baseline=Zero())], scope=Scope.QUERY)
    for call, message in (
        (
            lambda: idle_subtype(model, [batch], [], direct=said(model, [batch]), thresholds=USUAL),
            "expected at least one head that would be called idle, got none.",
        ),
        (
            lambda: specificity(model, [], text=text, controls={}),
            "expected at least one head to remove, got none.",
        ),
        (
            lambda: specificity(model, [Head(0, 0)], text=text, controls={"neutral text": control}),
            "'neutral text' is the text that is given apart; name the control otherwise.",
        ),
        (
            lambda: NeutralText(ids=batch.ids, reference=batch.ids[:, :-1]),
            "texts and reference must be equally long, got 7 and 6 tokens; cut both to one length.",
        ),
        (
            lambda: NeutralText(ids=batch.ids, reference=batch.ids[:4]),
            "a text stands in the reference over which means are taken too; give others.",
        ),
    ):
        with pytest.raises(ValueError) as error:
            call()
        assert str(error.value) == message
