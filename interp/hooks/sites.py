"""Replace what heads give or read: ablation, and patching a head's output, query, key or value."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from interp.heads import HeadSpec, KVHeadSpec, as_heads, as_kv_heads
from interp.hooks.baselines import Baseline
from interp.hooks.selection import (
    Cache,
    HookPair,
    Positions,
    by_layer,
    donated,
    head_mask,
    point,
    position_mask,
)


@dataclass(frozen=True)
class Site:
    """Which tensor of which heads: made by `output`, `query`, `key` or `value`.

    Attributes:
        name: of the hook point, without layer: `z`, `q`, `k` or `v`.
        heads: layer and number; for `k` and `v` the number of a key/value head.
    """

    name: str
    heads: tuple[tuple[int, int], ...]

    @property
    def hook_names(self) -> list[str]:
        """The hook points at which it is found."""
        return [point(layer, self.name) for layer in by_layer(self.heads)]


def output(heads: HeadSpec) -> Site:
    """What the heads gathered, before the output projection."""
    return Site("z", tuple(as_heads(heads)))


def query(heads: HeadSpec) -> Site:
    """What the heads ask with, as projected (before any rotation)."""
    return Site("q", tuple(as_heads(heads)))


def key(kv_heads: KVHeadSpec) -> Site:
    """What the key/value heads are found by, as projected; all query heads of a group see it."""
    return Site("k", tuple(as_kv_heads(kv_heads)))


def value(kv_heads: KVHeadSpec) -> Site:
    """What the key/value heads hand over; all query heads of a group see it."""
    return Site("v", tuple(as_kv_heads(kv_heads)))


def ablate(heads: HeadSpec, baseline: Baseline, positions: Positions = None) -> list[HookPair]:
    """Remove heads: their output is replaced by `Zero()`, `Mean(...)` or `Resample(...)`.

    With `positions`, only there. Errors come when the hook runs: a head that the layer does not
    have, a position outside the prompt, a baseline of another shape.
    """
    return [
        (
            point(layer, "z"),
            partial(
                _replaced,
                numbers=tuple(numbers),
                replacement=partial(baseline.replacement, layer),
                positions=positions,
            ),
        )
        for layer, numbers in by_layer(as_heads(heads)).items()
    ]


def patch(
    sites: Site | Sequence[Site], cache: Cache, positions: Positions = None
) -> list[HookPair]:
    """Put another run's values at the sites, all else live.

    `patch(query("9.6"), cache)` recomputes a head with only its query from the other run, and
    likewise `key` and `value`; `output` is the interchange of the whole head.
    """
    return [
        (
            point(layer, site.name),
            partial(
                _replaced,
                numbers=tuple(numbers),
                replacement=partial(donated, cache, point(layer, site.name)),
                positions=positions,
            ),
        )
        for site in ([sites] if isinstance(sites, Site) else sites)
        for layer, numbers in by_layer(site.heads).items()
    ]


def _replaced(
    tensor: Float[Tensor, "batch pos head d_head"],
    hook: Any,
    *,
    numbers: tuple[int, ...],
    replacement: Any,
    positions: Positions,
) -> Float[Tensor, "batch pos head d_head"]:
    n_prompts, n_positions = tensor.shape[:2]
    where = position_mask(
        positions, n_prompts=n_prompts, n_positions=n_positions, device=tensor.device
    )
    chosen = where[:, :, None] & head_mask(numbers, tensor, axis=2)
    return torch.where(chosen[..., None], replacement(tensor), tensor)
