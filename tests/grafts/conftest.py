"""Planted models to graft into, each loaded once a session with its items."""

import pytest

from interp.models import load
from interp.planted import build


@pytest.fixture(scope="session")
def plant(tmp_path_factory):
    """`plant(name)` gives the model and its items as a batch; its files go to a temporary cache."""
    cache, kept = str(tmp_path_factory.mktemp("cache")), {}

    def model_and_batch(name):
        if name not in kept:
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("INTERP_CACHE", cache)
                model = load(f"planted/{name}")
            (batch,) = model.encode(build(name).items)
            kept[name] = model, batch
        return kept[name]

    return model_and_batch
