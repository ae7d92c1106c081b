"""Planted models, loaded once a session with their items; a random one that is sure of itself."""

from dataclasses import replace

import pytest
import torch

from interp.models import load
from interp.planted import build


@pytest.fixture(scope="session")
def planted(tmp_path_factory):
    kept = {}

    def model_and_batch(name):
        if name not in kept:
            model = load(f"planted/{name}")
            (batch,) = model.encode(build(name).items)
            kept[name] = model, batch
        return kept[name]

    return model_and_batch


@pytest.fixture(scope="session")
def sure(tiny, items):
    """Items on which the random model has a gap: the answer is what it says, the foil what it
    says least."""
    batches = []
    for batch in tiny.encode(items):
        with torch.inference_mode():
            logits = tiny.plain(batch.ids).logits[torch.arange(len(batch)), batch.query]
        batches.append(replace(batch, answer=logits.argmax(-1), foil=logits.argmin(-1)))
    return batches
