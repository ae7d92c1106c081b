"""What an encoder without a vocabulary head holds: is the query nearer to its source?"""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from interp.encode import Batch
from interp.items import Item
from interp.models.model import Model


def representation_margins(
    model: Model, items: Sequence[Item]
) -> tuple[Float[Tensor, " item"], Float[Tensor, " item"]]:
    """How much nearer the query is to its source than to the distractor, here and in the donor.

    cos(h_query, h_source) − cos(h_query, h_distractor) of the hidden states behind the last layer,
    −2 to 2; several tokens are averaged first. The second value is that of the same places in the
    counterfactual, where in a role flip the source is the distractor's. In the order of the items.

    Args:
        items: read at a word of the text (see `interp.tasks.sentences.read_at`).

    Raises:
        ValueError: an item has no query, no source or no distractor.
    """
    for item in items:
        if item.query is None or not item.source or not item.distractors:
            raise ValueError(
                f'item "{item.item_id}" needs a query, a source and a distractor in its text for '
                "the margin between representations; give items from `read_at` that have both."
            )
    margins: dict[str, tuple[Tensor, Tensor]] = {}
    for batch in model.encode(items):
        with torch.inference_mode():
            states = model.plain.module.base_model(input_ids=batch.ids, use_cache=False)[0]
        for item, here, there in zip(
            batch.items, _margins(states, batch), _margins(states[batch.donor], batch), strict=True
        ):
            margins[item.item_id] = here, there
    here, there = (torch.stack([margins[item.item_id][side] for item in items]) for side in (0, 1))
    return here, there


def _margins(states: Float[Tensor, "item pos d_model"], batch: Batch) -> Float[Tensor, " item"]:
    query = states[torch.arange(len(batch)), batch.query]
    source, distractor = _mean(states, batch.source), _mean(states, batch.distractor)
    cosine = torch.nn.functional.cosine_similarity
    return cosine(query, source) - cosine(query, distractor)


def _mean(
    states: Float[Tensor, "item pos d_model"], places: Bool[Tensor, "item pos"]
) -> Float[Tensor, "item d_model"]:
    return (states * places[..., None]).sum(1) / places.sum(1, keepdim=True)
