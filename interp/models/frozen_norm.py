"""A norm as the linear map that it is at the scale of given states."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from interp.models.undefined import UndefinedError


class FrozenNorm:
    """A layer norm or RMS norm whose scale, and no more, is taken from `states`; the shift is left.

    A norm's scale depends on the size of the states alone, so the gain of each coordinate is read
    off states of the same size in which no coordinate is 0.

    Raises:
        UndefinedError: the module is no norm: it is not linear at a given scale.

    Args:
        norm: None is the map that changes nothing.
        states: one scale is kept for each.
    """

    def __init__(self, norm: nn.Module | None, states: Float[Tensor, "*row d_model"]) -> None:
        self._gain: Tensor | None = None
        self._centres = False
        if norm is not None:
            size = states.square().mean(-1, keepdim=True).sqrt()
            self._centres = torch.allclose(norm(states), norm(states + size), atol=1e-3)
            if self._centres:
                centred = states - states.mean(-1, keepdim=True)
                size = centred.square().mean(-1, keepdim=True).sqrt()
            signs = 1 - 2.0 * (torch.arange(states.shape[-1], device=states.device) % 2)
            signs = signs - signs.mean()
            even = size / signs.square().mean().sqrt() * signs
            shift = norm(torch.zeros_like(states))
            self._gain = (norm(even) - shift) / even
            whole = norm(states)
            if not torch.allclose(
                self(states) + shift, whole, atol=1e-3 * whole.abs().max().item()
            ):
                raise UndefinedError(
                    f"{type(norm).__name__} is no norm with a gain, so what stands behind it is no "
                    "sum over what stands before it."
                )

    def __call__(self, written: Float[Tensor, "*row d_model"]) -> Float[Tensor, "*row d_model"]:
        """What stands behind the norm of a part of its states, a part for each row of `states`."""
        if self._gain is None:
            return written
        if self._centres:
            written = written - written.mean(-1, keepdim=True)
        return written * self._gain

    def back(self, direction: Float[Tensor, "*row d_model"]) -> Float[Tensor, "*row d_model"]:
        """The direction before the norm that reads what `direction` reads behind it."""
        if self._gain is None:
            return direction
        direction = direction * self._gain
        return direction - direction.mean(-1, keepdim=True) if self._centres else direction
