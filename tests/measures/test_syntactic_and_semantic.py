"""Heads that follow syntax, and heads that follow meaning: MiniLM's, by a second route."""

import numpy as np
import pytest
import torch

from interp.encode_text import all_items
from interp.measures import semantic, syntactic
from interp.measures.battery import read_patterns
from interp.measures.held_out import every_second_document
from interp.measures.selection import selections
from interp.measures.semantic import semantic_scores
from interp.measures.syntactic import encoded, syntactic_scores
from interp.models import load
from interp.tasks.parsed import noun_pairs, parsed_sentences
from interp.tasks.readers.dependencies import dependency_items


@pytest.fixture(scope="module")
def minilm():
    return load("minilm-l6")


@pytest.fixture(scope="module")
def sentences():
    return parsed_sentences(40, seed=0)


@pytest.fixture(scope="module")
def items(sentences):
    return dependency_items(sentences, "nsubj") + dependency_items(sentences, "det")


@pytest.fixture(scope="module")
def syntax(minilm, items):
    return syntactic_scores(minilm, items, n_least=5)


def test_accuracy_is_that_of_attention_word_by_word(minilm, items, syntax):
    """L2H3 from subject to verb, counted by hand from its patterns."""
    batches = encoded(minilm, items)
    chooses = iter(every_second_document(batches))
    hits = []
    for batch in batches:
        patterns = []
        read_patterns(
            minilm.plain, torch.tensor([batch.ids]), lambda _, p, to=patterns: to.append(p[0])
        )
        for item, query, source in zip(batch.items, batch.query, batch.source, strict=True):
            if next(chooses) or item.labels != item.labels | NSUBJ:
                continue
            rows = patterns[2][3][list(batch.groups[query])].mean(0)
            received = {
                word: float(rows[list(group)].sum())
                for word, group in enumerate(batch.groups)
                if word not in (query, *batch.special)
            }
            hits.append(max(received, key=received.get) in source)
    found = syntax.query("relation == 'nsubj, to head' and label == 'L2H3'").iloc[0]
    assert found["n_items"] == len(hits)
    assert found["accuracy"] == pytest.approx(np.mean(hits))


NSUBJ = {"relation": "nsubj", "direction": "to head"}


def test_the_advantage_is_what_is_left_of_accuracy(syntax):
    np.testing.assert_allclose(
        syntax["advantage"], syntax["accuracy"] - syntax["offset_accuracy"], atol=1e-9
    )
    assert syntax["p"].between(0, 1).all()
    assert syntax["advantage"].between(syntax["low"], syntax["high"]).all()


def test_a_head_that_is_always_at_the_offset_has_no_advantage(minilm, items, monkeypatch):
    def planted(plain, batches, **options):
        found = selections(plain, batches, **options)
        hits = torch.zeros_like(found.open)
        hits[:, 0, 0] = 1.0
        return _with(found, open=hits)

    monkeypatch.setattr(syntactic, "selections", planted)
    table = syntactic_scores(minilm, items, n_least=5)
    always = table[table["label"] == "L0H0"]
    np.testing.assert_allclose(always["advantage"], 1 - always["offset_accuracy"])
    never = table[table["label"] == "L0H1"]
    np.testing.assert_allclose(never["advantage"], -never["offset_accuracy"])


def test_real_heads_beat_the_offset(syntax):
    best = syntax.loc[syntax.groupby("relation")["advantage"].idxmax()].set_index("relation")
    assert best.loc["det, to head", "advantage"] > 0.3
    assert best.loc["det, to head", "p"] < 0.05


def test_too_few_sentences_are_refused(minilm, items):
    with pytest.raises(ValueError) as error:
        syntactic_scores(minilm, items[:20])
    assert str(error.value) == (
        "no relation has 40 items in either half of the documents; give more sentences."
    )


def test_a_head_that_follows_likeness_has_it_whole_and_one_that_follows_distance_nothing(
    minilm, sentences, monkeypatch
):
    def planted(plain, batches, **options):
        found = selections(plain, batches, **options)
        raw = torch.zeros_like(found.raw)
        raw[:, 0, 0] = torch.from_numpy(semantic._likeness(minilm, batches)).float()
        places = [
            abs(query - source[0])
            for batch in batches
            for query, source in zip(batch.query, batch.source, strict=True)
        ]
        raw[:, 0, 1] = -torch.tensor(places).float()
        return _with(found, raw=raw)

    monkeypatch.setattr(semantic, "selections", planted)
    table = semantic_scores(minilm, noun_pairs(sentences)).set_index("label")
    assert table.loc["L0H0", "rho"] == pytest.approx(1)
    assert np.isnan(table.loc["L0H1", "rho"])
    assert table.loc["L0H0", "p"] < 0.01


def test_real_heads_go_with_likeness(minilm, sentences):
    table = semantic_scores(minilm, noun_pairs(sentences))
    best = table.loc[table["rho"].idxmax()]
    assert best["rho"] > 0.3
    assert best["p"] < 0.01
    assert table.equals(semantic_scores(minilm, noun_pairs(sentences)))


def test_a_causal_model_is_asked_for_what_stands_before_alone(smollm2, sentences):
    few = noun_pairs(sentences[:6])
    table = semantic_scores(smollm2, few)
    assert table["n_items"].iloc[0] == len(few) / 2
    assert len(list(all_items(encoded(smollm2, few)))) == len(few)


def _with(found, **changed):
    return type(found)(**{**vars(found), **changed})
