"""The engine's rows in every family: a layer called again on some rows, against the whole run."""

import pytest
import torch

from interp.effects.replay import replay
from interp.encode import Batch
from interp.models.families import small_ids
from interp.models.record import record
from tests.conftest import agreement_pair
from tests.models.conftest import RUNNING, each, plain_of

WITH_LOGITS = [variant for variant in RUNNING if variant.kind in ("causal", "masked")]


@pytest.fixture(scope="module")
def batch():
    """Random tokens; the engine's rows ask for nothing of an item but its place."""
    ids, nowhere = small_ids(4), torch.zeros(4, 12, dtype=torch.bool)
    zeros = torch.zeros(4, dtype=torch.long)
    return Batch(
        items=tuple(agreement_pair("farmer", "pilots", pair_id="p")) * 2, ids=ids,
        donor=torch.tensor([1, 0, 3, 2]),
        query=torch.tensor([8, 9, 11, 11]), source=nowhere, distractor=nowhere, special=nowhere,
        answer=zeros, foil=zeros,
    )  # fmt: skip


@each(WITH_LOGITS)
@pytest.mark.parametrize("layer", [0, 2])
def test_rows_run_again_are_those_of_the_whole_run(name, layer, batch):
    """Variants repeat items and leave some out; all their rows from the fifth on are compared."""
    plain = plain_of(name)
    start = 5 if plain.is_causal else 0
    recorded = record(plain, batch)
    items = torch.tensor([0, 2, 2, 1, 3])
    z = recorded.z[layer][items][:, :, start:].clone()
    z[:, 1] = 0
    final = replay(plain, recorded, layer=layer, z=z, items=items, start=start)
    logits = plain.readout(final.flatten(0, 1), None).view(len(items), -1, 40)

    def without_head(here, point, tensor):
        if here != layer or point != "z":
            return tensor
        edited = tensor.clone()
        edited[:, 1, start:] = 0
        return edited

    with torch.inference_mode(), plain.hooked(without_head):
        expected = plain(batch.ids).logits[items][:, start:]
    largest = expected.abs().max().item()
    torch.testing.assert_close(logits, expected, atol=1e-5 * largest, rtol=0)


@each(WITH_LOGITS)
def test_the_columns_asked_for_are_those_of_all(name, batch):
    plain = plain_of(name)
    residual = torch.randn(3, 32, generator=torch.Generator().manual_seed(0))
    columns = torch.tensor([[1, 5], [7, 7], [39, 0]])
    torch.testing.assert_close(
        plain.readout(residual, columns), plain.readout(residual, None).gather(1, columns)
    )
