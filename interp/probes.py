"""Probes for any model or attention: does it see the future, do two ways of running agree?"""

from collections.abc import Callable

import torch
from jaxtyping import Int
from torch import Tensor

_TOLERANCE = 1e-5


def leak_probe(f: Callable[[Tensor], Tensor], ids: Int[Tensor, "batch pos"]) -> float:
    """How much changing the last token moves any earlier output: near 0 if `f` is causal.

    Args:
        f: gives for ids a tensor `[batch, pos, ...]`: a model's logits, a layer, one's own
            attention.
        ids: at least two tokens a prompt.

    Returns:
        The largest movement, in units of `f`.

    Raises:
        ValueError: it is more than 1e-5 of the largest output, or not finite, or nothing moves at
            the last position either, so that the probe says nothing.
    """
    other = ids.clone()
    other[:, -1] = torch.where(ids[:, -1] == 0, 1, 0)
    with torch.no_grad():
        one, two = f(ids), f(other)
    movement = (one - two).abs()
    if ids.shape[1] < 2 or not movement[:, -1].any():
        raise ValueError(
            "the output did not move at the last position, whose token changed, so nothing can be "
            "said of the earlier ones; expected f(ids) of shape [batch, pos, ...] for at least "
            "two tokens."
        )
    leaked = movement[:, :-1].max().item()
    if not leaked <= _TOLERANCE * one.abs().max().item():
        raise ValueError(
            f"changing the last token moves earlier outputs by {leaked:.3g}: this attends to the "
            "future; check its mask."
        )
    return leaked


def same_output_probe(
    f: Callable[[Tensor], Tensor], g: Callable[[Tensor], Tensor], ids: Int[Tensor, "batch pos"]
) -> float:
    """How far two ways of running a model are apart, such as with and without its patterns.

    Returns:
        The largest difference, in units of the output.

    Raises:
        ValueError: it is more than 1e-5 of the largest output, or not finite.
    """
    with torch.no_grad():
        one, other = f(ids), g(ids)
    difference = (one - other).abs().max().item()
    if not difference <= _TOLERANCE * one.abs().max().item():
        raise ValueError(
            f"the two runs differ by {difference:.3g} where the largest output is "
            f"{one.abs().max().item():.3g}; what is seen in the one is not what the other does."
        )
    return difference
