"""Path patching: what one head tells another, or the logits, and nothing that others pass on."""

from collections.abc import Sequence
from enum import StrEnum
from functools import partial
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from interp.heads import HeadSpec, as_heads
from interp.hooks.selection import Cache, HookPair, donated, head_mask, point
from interp.hooks.sites import Site, patch


class MLPs(StrEnum):
    """Whether the MLPs between sender and receiver answer to the sender."""

    LIVE = "live"
    FROZEN = "frozen"


def direct(
    bridge: Any, *, senders: HeadSpec, intact: Cache, donor: Cache, mlps: MLPs
) -> list[HookPair]:
    """Give the senders their output of the donor run, and freeze all other heads as intact.

    Run with these, the logits differ by what the senders tell them directly; with live MLPs, also
    through MLPs. Both caches must hold `hook_z` from the first sender's layer up, and
    the intact one `hook_mlp_out` too if the MLPs are frozen.

    Source: Wang et al. 2022, arXiv:2211.00593; they run with live MLPs.
    """
    sending = as_heads(senders)
    pairs: list[HookPair] = []
    for layer in range(sending[0].layer, bridge.cfg.n_layers):
        numbers = tuple(head.head for head in sending if head.layer == layer)
        pairs.append(
            (
                point(layer, "z"),
                partial(_held, layer=layer, numbers=numbers, intact=intact, donor=donor),
            )
        )
        if mlps is MLPs.FROZEN:
            name = f"blocks.{layer}.hook_mlp_out"
            pairs.append((name, partial(_as_cached, name=name, cache=intact)))
    return pairs


def path(
    bridge: Any,
    ids: Int[Tensor, "batch pos"],
    *,
    senders: HeadSpec,
    receivers: Site | Sequence[Site],
    intact: Cache,
    donor: Cache,
    mlps: MLPs,
) -> list[HookPair]:
    """Patch the receivers with what they read when only the senders' direct word has changed.

    One forward of `ids` under `direct` records the receivers' queries, keys or
    values; the pairs returned put these into an otherwise live run.

    Raises:
        ValueError: a receiver is an output, or lies no higher than the first sender.

    Source: Wang et al. 2022, arXiv:2211.00593.
    """
    sites = [receivers] if isinstance(receivers, Site) else list(receivers)
    first = as_heads(senders)[0].layer
    for site in sites:
        if site.name == "z":
            raise ValueError(
                "a receiver reads by query, key or value; name it by one of these, not by output."
            )
        lowest = min(layer for layer, _ in site.heads)
        if lowest <= first:
            raise ValueError(
                f"a receiver in layer {lowest} hears no sender of layer {first} or above; "
                "receivers must lie higher than the first sender."
            )
    names = [name for site in sites for name in site.hook_names]
    spoken = direct(bridge, senders=senders, intact=intact, donor=donor, mlps=mlps)
    with bridge.hooks(fwd_hooks=spoken):
        _, heard = bridge.run_with_cache(ids, names_filter=names)
    return patch(sites, heard)


def _held(
    z: Tensor, hook: Any, *, layer: int, numbers: tuple[int, ...], intact: Cache, donor: Cache
) -> Tensor:
    held = donated(intact, point(layer, "z"), z)
    if not numbers:
        return held
    sends = head_mask(numbers, z, axis=2)[:, None]
    return torch.where(sends, donated(donor, point(layer, "z"), z), held)


def _as_cached(tensor: Tensor, hook: Any, *, name: str, cache: Cache) -> Tensor:
    return donated(cache, name, tensor)
