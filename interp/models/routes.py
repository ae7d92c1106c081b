"""Whether a model takes rows of a forest: tried, and compared with its own forward."""

import weakref
from dataclasses import dataclass

import torch

from interp.models.plain import Plain
from interp.models.walk import ground, walk

TOLERANCE = 1e-5
_KNOWN: "weakref.WeakKeyDictionary[Plain, Route]" = weakref.WeakKeyDictionary()


@dataclass(frozen=True)
class Route:
    """How prompts are run.

    Attributes:
        shares_prefixes: as a forest, and only the rows that an edit reaches.
        by_layers: layer by layer at all; otherwise one whole forward a head is what is left.
        reason: why not more, in a clause; empty where nothing is left out.
    """

    shares_prefixes: bool
    by_layers: bool
    reason: str = ""

    def __str__(self) -> str:
        if self.shares_prefixes:
            return "forest, active rows only"
        way = "whole items" if self.by_layers else "plain loop, one forward a head"
        return f"{way} ({self.reason})"


def route(plain: Plain) -> Route:
    """The fastest way that gives this model's own states, on prompts that share a prefix."""
    if plain not in _KNOWN:
        _KNOWN[plain] = _tried(plain)
    return _KNOWN[plain]


def _tried(plain: Plain) -> Route:
    reason = "every position sees every other" if not plain.is_causal else ""
    if plain.is_causal:
        reason = _why_not(plain, shares=True)
        if not reason:
            return Route(shares_prefixes=True, by_layers=True)
    stops = _why_not(plain, shares=False)
    return Route(shares_prefixes=False, by_layers=not stops, reason=stops or reason)


def _why_not(plain: Plain, *, shares: bool) -> str:
    """Empty where all states of the last block are those of the model's own forward."""
    ids = torch.tensor([[3, 5, 4, 6, 5, 3], [3, 5, 4, 7, 5, 4], [3, 5, 7, 7, 4, 4]])
    ids = (ids + plain.module.config.vocab_size // 3).to(plain.module.device)  # words, not specials
    with torch.inference_mode():
        expected = plain.last_block(ids)
        alone = torch.cat([plain.last_block(row[None]) for row in ids])
    rounding = (alone - expected).abs().max().item()
    try:
        start = ground(plain, ids, torch.full((3,), 6), shares=shares)
        *_, last = walk(start)
        found = last.after[torch.from_numpy(start.grown.node_of).to(ids.device)]
    except (ValueError, RuntimeError, IndexError) as error:
        # whatever a family's own code raises on rows that it does not expect
        return f"a layer cannot be called on other rows: {str(error).splitlines()[0]}"
    apart = (found - expected).abs().max().item()
    if not apart <= max(TOLERANCE * expected.abs().max().item(), 4 * rounding):
        return f"rows of a forest give other states, {apart:.1g} apart"
    return ""
