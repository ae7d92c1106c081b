"""Planted models, loaded once a session with their items."""

import pytest

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
