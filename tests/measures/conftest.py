"""Batches without texts for small models of every family, and real ones, each recorded once."""

from functools import cache

import pytest
import torch

from interp.encode import Batch
from interp.items import Item
from interp.models.families import small_ids
from interp.models.record import record
from tests.conftest import agreement_pair
from tests.models.conftest import plain_of

ADDING = [
    "gpt2",
    "gpt_neo",
    "opt",
    "bloom",
    "falcon, grouped",
    "gptj",
    "gpt_neox",
    "llama, grouped",
    "phi",
    "cohere",
    "qwen3",
    "mistral",
    "gpt_oss",
]
"""Families in which heads add to the stream, and it to the logits."""

OTHERS = ["olmo2", "gemma2, windows", "bert", "distilbert", "bert, headless", "t5, encoder"]
"""Families that norm what heads write, or the stream, or have another head."""


def bare_batch(n_items=4, length=8):
    """Random ids; source, distractor and query are places, and no text stands behind them."""

    def marked(*places):
        mask = torch.zeros(n_items, length, dtype=torch.bool)
        mask[:, list(places)] = True
        return mask

    source = marked(5)
    source[1, 6] = True
    source[2] = marked(4)[2]
    return Batch(
        items=tuple(_item(str(number)) for number in range(n_items)),
        ids=small_ids(n_items, length),
        donor=torch.tensor([1, 0, 3, 2]),
        query=torch.full((n_items,), length - 1),
        source=source,
        distractor=marked(3),
        special=marked(0),
        answer=torch.tensor([5, 6, 7, 8]),
        foil=torch.tensor([9, 10, 11, 12]),
    )


def _item(name):
    return Item(
        item_id=name,
        pair_id=name,
        task="",
        template_id="",
        clusters=("",),
        clean_text="",
        corrupt_text="",
        answer_text="",
        foil_text="",
        source=(),
        distractors=(),
    )


@cache
def recorded_family(name):
    return record(plain_of(name), bare_batch())


@pytest.fixture(scope="session")
def recorded_smollm2(smollm2):
    pairs = [agreement_pair(*nouns, pair_id=nouns[0]) for nouns in (("farmer", "senators"),)]
    (batch,) = smollm2.encode([item for pair in pairs for item in pair])
    return record(smollm2.plain, batch)


@pytest.fixture(scope="session")
def minilm():
    from interp.models import load

    return load("minilm-l6")


@pytest.fixture(scope="session")
def recorded_minilm(minilm):
    """A headless encoder has no answer, so ids stand in for it."""
    batch = bare_batch()
    ids = batch.ids + 2000
    return record(minilm.plain, Batch(**{**batch.__dict__, "ids": ids}))
