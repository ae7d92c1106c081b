"""What enters the leagues: a measure with its values on every item, and those it must beat."""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool, Float

from interp.contrast.observations import mean_of_defined

PATTERN, VALUE, METRIC = LEAGUES = ("pattern only", "value-aware", "metric-aware")


@dataclass(frozen=True, kw_only=True)
class Contender:
    """A measure of heads, on every item.

    Attributes:
        name: as it stands in tables.
        league: what it knows beside the pattern: nothing, the values too, or the metric too.
        by_tier: the values, NaN where undefined; the same at all tiers unless the measure asks
            where a head is removed.
        random_init: by tier, means over items in models that have learned nothing.
        swapped: the same with source and distractors exchanged; None where that changes nothing,
            or turns the sign, by construction.
    """

    name: str
    league: str
    by_tier: dict[str, Float[np.ndarray, "item head"]]
    random_init: dict[str, Float[np.ndarray, "seed head"]] = field(default_factory=dict)
    swapped: Float[np.ndarray, " head"] | None = None

    @property
    def is_signed(self) -> bool:
        """Whether its sign is a claim about the sign of the effect: it is, where it knows m.

        CAS and the margin have a sign too, and it says where attention goes, not what for.
        """
        return self.league == METRIC

    def defined(self, tier: str) -> Bool[np.ndarray, " head"]:
        """The heads that have a value on every item."""
        defined: np.ndarray = ~np.isnan(self.by_tier[tier]).any(axis=0)
        return defined

    def why_no_ranking(self, tier: str) -> str:
        """Why the measure gives no ranking of heads at a tier; empty if it does."""
        defined = self.defined(tier)
        if not defined.any():
            return "for no head is it defined on every item"
        means = self.by_tier[tier][:, defined].mean(axis=0)
        # the same up to rounding in fp32
        if np.ptp(means) <= 1e-6 * np.abs(means).max():
            return "all heads have the same"
        return ""

    def means(self, tier: str, items: Bool[np.ndarray, " item"]) -> Float[np.ndarray, " head"]:
        """Each head's mean over those of some items on which it is defined."""
        return mean_of_defined(self.by_tier[tier][items])
