"""Edit where heads look, and leave what they would bring from there live."""

from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from interp.heads import HeadSpec, as_heads
from interp.hooks.edges import is_allowed
from interp.hooks.selection import Cache, HookPair, by_layer, donated, head_mask, point


def freeze_pattern(heads: HeadSpec, cache: Cache) -> list[HookPair]:
    """Let heads look where they looked in another run, at the values of this one.

    The cache must hold `hook_pattern` of as many prompts of the same length.
    """
    return [
        (
            point(layer, "pattern"),
            partial(_frozen, numbers=tuple(numbers), cache=cache, layer=layer),
        )
        for layer, numbers in by_layer(as_heads(heads)).items()
    ]


def uniform_pattern(heads: HeadSpec) -> list[HookPair]:
    """Let heads look evenly at every key that their mask allows (with learned sinks: and there).

    If the effect of a head survives this, it does not depend on where the head looks.
    """
    return [
        (point(layer, "attn_scores"), partial(_even, numbers=tuple(numbers)))
        for layer, numbers in by_layer(as_heads(heads)).items()
    ]


def _frozen(
    pattern: Float[Tensor, "batch head query key"],
    hook: Any,
    *,
    numbers: tuple[int, ...],
    cache: Cache,
    layer: int,
) -> Float[Tensor, "batch head query key"]:
    chosen = head_mask(numbers, pattern, axis=1)[:, None, None]
    return torch.where(chosen, donated(cache, point(layer, "pattern"), pattern), pattern)


def _even(
    scores: Float[Tensor, "batch head query key"], hook: Any, *, numbers: tuple[int, ...]
) -> Float[Tensor, "batch head query key"]:
    chosen = head_mask(numbers, scores, axis=1)[:, None, None]
    return scores.masked_fill(chosen & is_allowed(scores), 0.0)
