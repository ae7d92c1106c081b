"""The gradient of the logit difference at every head's attention in the query's row."""

import torch
from jaxtyping import Float
from torch import Tensor

from interp.encode import Batch
from interp.models.plain import Plain
from interp.models.undefined import UndefinedError


def pattern_gradients(plain: Plain, batch: Batch) -> list[Float[Tensor, "item head key"]]:
    """For each layer ∂m/∂A in the query's row, all that follows it live; m the logit difference.

    Raises:
        UndefinedError: the model has no logits.
    """
    if plain.anatomy.unembedding is None:
        raise UndefinedError(
            f"{type(plain.module).__name__} has no vocabulary head, so there is no logit "
            "difference to take a gradient of."
        )
    rows = torch.arange(len(batch))
    nudges: list[Tensor] = []

    def nudge(layer: int, name: str, tensor: Tensor) -> Tensor:
        if name != "pattern":
            return tensor
        more = torch.zeros_like(tensor[:, :, 0]).requires_grad_()
        nudges.append(more)
        at_query = torch.zeros_like(tensor)
        at_query[rows, :, batch.query] = more
        return tensor + at_query

    with torch.enable_grad(), plain.hooked(nudge):
        logits = _logits(plain, batch)
        difference = logits[rows, batch.answer] - logits[rows, batch.foil]
        return list(torch.autograd.grad(difference.sum(), nudges))


def _logits(plain: Plain, batch: Batch) -> Float[Tensor, "item vocab"]:
    """At the query, with a graph to differentiate; other positions are not unembedded."""
    rows = torch.arange(len(batch))
    if plain.anatomy.head is not None:
        logits: Tensor = plain(batch.ids).logits[rows, batch.query]
        return logits
    return plain.readout(plain.last_block(batch.ids)[rows, batch.query], None)
