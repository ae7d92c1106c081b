"""The leagues of a quick run: rank agreement of attention on all items."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import spearmanr

from interp.behaviour import item_table
from interp.contrast import observations
from interp.effects import LOGIT_DIFFERENCE, sweep
from interp.leagues import leagues_of_patterns
from interp.measures.relations import relation_scores
from interp.models import load
from interp.models.record import record
from interp.planted import build


def test_attention_is_ranked_against_effects_and_nothing_is_held_out():
    model = load("planted/lookalikes")
    (batch,) = model.encode(build("lookalikes").items)
    data = observations(
        relation_scores(record(model.plain, batch)),
        sweep(model, [batch]),
        item_table(model, [batch], LOGIT_DIFFERENCE),
    )
    rng = np.random.default_rng(0)  # planted heads tie, and ties are broken by rounding
    drawn = {
        name: {key: rng.normal(size=values.shape) for key, values in getattr(data, name).items()}
        for name in ("scores", "effects")
    }
    data = replace(data, **drawn)
    found = leagues_of_patterns(model, batch, data, seed=0)
    table = found.tables["league"]
    assert set(table["measure"]) == {"raw", "sink_corrected", "cas"}
    assert set(table["league"]) == {"pattern only"}
    for row in table.to_dict("records"):
        one = data.scores[row["measure"]]
        defined = ~np.isnan(one).any(axis=0)
        sizes = np.abs(data.effects[row["tier"]][:, defined].mean(axis=0))
        expected = spearmanr(one[:, defined].mean(axis=0), sizes).statistic
        assert row["spearman"] == pytest.approx(expected, abs=1e-6), row
    assert "Nothing is held out" in found.how["halves"]
    assert found.how["n_pairs_scored"] == len(batch) // 2
