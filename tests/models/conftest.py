"""Small models of every family, each loaded once a session with our attention inside."""

from functools import cache

import pytest

from interp.models.families import small_model
from interp.models.plain import Plain
from interp.models.variants import VARIANTS

BY_NAME = {variant.name: variant for variant in VARIANTS}
RUNNING = [variant for variant in VARIANTS if variant.kind != "seq2seq"]
REFUSED = [variant for variant in VARIANTS if variant.kind == "seq2seq"]


@cache
def plain_of(name):
    """The variant of this name, with our attention; no test changes it."""
    return Plain(small_model(BY_NAME[name]).requires_grad_(False))


@cache
def own_of(name):
    """The same weights as transformers runs them, without our attention."""
    return small_model(BY_NAME[name]).requires_grad_(False)


def each(variants):
    return pytest.mark.parametrize("name", [variant.name for variant in variants])
