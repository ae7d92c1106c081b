"""What an ablated head gives instead: a value, chosen by name."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from interp.hooks.selection import Cache, cached, donated, point


@runtime_checkable
class Baseline(Protocol):
    """Gives, for a layer's z, what stands there instead: a tensor of the same shape."""

    def replacement(self, layer: int, z: Tensor) -> Tensor:
        """The tensor that replaces `z`."""
        ...


@dataclass(frozen=True)
class Zero:
    """Nothing. That also removes what the head writes on every prompt, as a bias would."""

    def replacement(
        self, layer: int, z: Float[Tensor, "batch pos head d_head"]
    ) -> Float[Tensor, "batch pos head d_head"]:
        """Zeros."""
        return torch.zeros_like(z)


@dataclass(frozen=True, eq=False)
class Resample:
    """The head's output in another run, position by position: the counterfactual prompts' cache.

    The cache must hold `hook_z` of as many prompts of the same length.
    """

    cache: Cache

    def replacement(
        self, layer: int, z: Float[Tensor, "batch pos head d_head"]
    ) -> Float[Tensor, "batch pos head d_head"]:
        """The other run's z."""
        return donated(self.cache, point(layer, "z"), z)


@dataclass(frozen=True, eq=False)
class Mean:
    """The head's mean output over the counted positions of a reference set.

    Attributes:
        cache: the reference set's, with `hook_z`. Keep it apart from the items under test.
        counted: where the mean is taken. Leave out padding and the first token, whose outputs
            are unlike all others.
    """

    cache: Cache
    counted: Bool[Tensor, "batch pos"]

    def replacement(
        self, layer: int, z: Float[Tensor, "batch pos head d_head"]
    ) -> Float[Tensor, "batch pos head d_head"]:
        """One vector a head, the same at all positions.

        Raises:
            ValueError: nothing is counted, or the reference set has another shape than `counted`.
        """
        reference = cached(self.cache, point(layer, "z"))
        if reference.shape[:2] != self.counted.shape or reference.shape[2:] != z.shape[2:]:
            raise ValueError(
                f"the reference z must have shape {(*self.counted.shape, *z.shape[2:])}, that of "
                f"`counted` and of this layer's heads, got {tuple(reference.shape)}."
            )
        if not self.counted.any():
            raise ValueError("no position is counted, so there is no mean; count one or more.")
        mean = reference[self.counted.to(reference.device)].mean(dim=0)
        return mean.to(z.device).expand_as(z)
