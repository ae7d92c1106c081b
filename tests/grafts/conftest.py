"""Planted models to graft into, each loaded once a session with its items."""

from functools import cache

import pytest

from interp.models import load
from interp.planted import build


@cache
def _loaded(name):
    model = load(f"planted/{name}")
    (batch,) = model.encode(build(name).items)
    return model, batch


@pytest.fixture(scope="session")
def plant(tmp_path_factory):
    """`plant(name)` gives the model and its items as a batch; the cache is a temporary one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INTERP_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield _loaded
    _loaded.cache_clear()
