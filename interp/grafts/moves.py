"""What differs between the two sides of each pair: the heads' outputs, and the last residual."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from interp.encode import Batch
from interp.grafts.telling import Fit, fit
from interp.heads import Head
from interp.models import Model
from interp.models.plain import Plain
from interp.models.record import record

LEAST_R_SQUARED = 0.5


@dataclass(frozen=True, kw_only=True)
class Moves:
    """The first side of each pair less the other, at the query of each.

    No label is in it: which answer is right is not asked for, only how the model itself moves.

    Attributes:
        said: the direction of the last residual along which the two candidates of an item are told
            apart most, of unit length; which way along it is for which of them is left open.
        residual: how far the last residual moves along it.
        z: how each head's output moves, before the output projection.
        frames: the first lexical frame of each pair.
    """

    said: Float[Tensor, " d_model"]
    residual: Float[np.ndarray, " pair"]
    z: Float[np.ndarray, "pair layer head d_head"]
    frames: Shaped[np.ndarray, " pair"]

    def fit(self, head: Head) -> Fit:
        """How the head's output foretells the last residual's move, frames left out in turn."""
        return fit(self.z[:, head.layer, head.head], self.residual, self.frames)

    def told_by(self, head: Head) -> Float[Tensor, "d_head d_model"]:
        """A slice of W_O by which a head adds what its output foretells of the last residual.

        Raises:
            ValueError: it foretells too little of it, in pairs that were left out.
        """
        found = self.fit(head)
        if found.r_squared < LEAST_R_SQUARED:
            raise ValueError(
                f"the output of {head.label} at the query foretells {found.r_squared:.2f} (R²) of "
                "how the last residual differs between the two sides of a pair, expected "
                f"{LEAST_R_SQUARED} or more; choose a head that reads where the difference is."
            )
        return torch.outer(torch.from_numpy(found.coefficients).to(self.said), self.said)


def moves(model: Model, batches: Sequence[Batch]) -> Moves:
    """How a model moves from one side of each pair to the other.

    Raises:
        ValueError: the model has no vocabulary.
    """
    sides, finals, outputs, frames = [], [], [], []
    for batch in batches:
        recorded = record(model.plain, batch, keep=("z",))
        rows = torch.arange(len(batch))
        one = rows[rows < batch.donor]
        other = batch.donor[one]
        z = torch.stack([layer[rows, :, batch.query] for layer in recorded.z], dim=1)
        outputs.append(z[one] - z[other])
        finals.append(torch.stack([recorded.final[one], recorded.final[other]], dim=1))
        sides.append(torch.stack([batch.answer[one], batch.foil[one]], dim=1))
        frames += [batch.items[row].clusters[0] for row in one.tolist()]
    final = torch.cat(finals)
    said = _contrast(model.plain, final, torch.cat(sides))
    return Moves(
        said=said,
        residual=((final[:, 0] - final[:, 1]) @ said).double().cpu().numpy(),
        z=torch.cat(outputs).double().cpu().numpy(),
        frames=np.array(frames),
    )


def _contrast(
    plain: Plain, final: Float[Tensor, "pair 2 d_model"], candidates: Int[Tensor, "pair 2"]
) -> Float[Tensor, " d_model"]:
    """The direction that the gradients of the candidates' logit differences share most.

    The first right singular vector, which does not change when two candidates change places.
    """
    states = final.flatten(0, 1).clone().requires_grad_()
    columns = candidates.sort(dim=1).values.repeat_interleave(2, dim=0).to(states.device)
    logits = plain.readout(states, columns)
    (gradients,) = torch.autograd.grad((logits[:, 0] - logits[:, 1]).sum(), states)
    direction: Tensor = torch.linalg.svd(gradients, full_matrices=False)[2][0]
    return direction
