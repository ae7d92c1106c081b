"""A random model on items of which it is sure."""

from dataclasses import replace

import pytest
import torch


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
