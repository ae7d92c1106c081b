"""The words that a metric of representations reads: the query, its source, the distractor."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from interp.effects.metrics import Metric
from interp.encode import Batch
from interp.models.plain import Plain
from interp.models.routes import route

Spans = Float[Tensor, "item word pos"]
"""Which positions are averaged for each of the three words of an item, and with what weight."""


def spans(batch: Batch) -> Spans:
    """The query, the source and the distractor of each item, all their tokens alike.

    Raises:
        ValueError: an item has no source or no distractor.
    """
    query = torch.zeros_like(batch.source)
    query[torch.arange(len(batch)), batch.query] = True
    marked = torch.stack([query, batch.source, batch.distractor], dim=1).float()
    n_tokens = marked.sum(-1, keepdim=True)
    missing = (n_tokens[:, :, 0] == 0).any(1).nonzero()[:, 0]
    if len(missing):
        raise ValueError(
            f'item "{batch.items[int(missing[0])].item_id}" names no source or no distractor, '
            "between which a representation is compared; give items that name both."
        )
    return marked / n_tokens


def spans_read(plain: Plain, metrics: Sequence[Metric], batch: Batch) -> Spans | None:
    """The spans, where a metric reads words; None where all read at the query alone.

    Raises:
        ValueError: a metric reads words and the model runs no whole prompts, or see `spans`.
    """
    name = next((metric.name for metric in metrics if metric.reads == "words"), None)
    if name is None:
        return None
    way = route(plain)
    if not way.by_layers or way.shares_prefixes:
        raise ValueError(
            f"{name!r} reads words before the query, which is done in models that read both "
            f"ways and run layer by layer; this one takes the route {str(way)!r}. Choose a metric "
            "of logits."
        )
    return spans(batch)


def at_spans(
    states: Float[Tensor, "*variant item pos d_model"], weights: Spans
) -> Float[Tensor, "*variant item word d_model"]:
    """The mean state of each word."""
    read: Tensor = torch.einsum("iwp,...ipd->...iwd", weights.to(states), states)
    return read


def at_nodes(
    states: Float[Tensor, "node d_model"], first: Int[Tensor, " item"], weights: Spans
) -> Float[Tensor, "item word d_model"]:
    """The same of prompts whose positions follow one another from the node `first` on."""
    places = first[:, None] + torch.arange(weights.shape[2], device=first.device)
    return at_spans(states[places], weights)
