"""What a claim asks of the figures, and the verdict that follows from them."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import inf, isnan, nan, sqrt

import numpy as np
from jaxtyping import Float

from interp.stats import Clusters, mean_interval

_Z = 1.96


class Verdict(StrEnum):
    """What can be said of a claim."""

    HOLDS = "holds"
    WITHIN_LIMITS = "holds within limits"
    DOES_NOT_HOLD = "does not hold here"


class Answer(StrEnum):
    """How a figure answers what is asked: the whole interval is inside, none of it, or a part."""

    MET = "met"
    OPEN = "open"
    NOT_MET = "not met"


@dataclass(frozen=True)
class Estimate:
    """A figure with its 95 % interval; a count or an exact figure has one of no width."""

    value: float
    low: float
    high: float

    @classmethod
    def exact(cls, value: float) -> "Estimate":
        """A figure that has no uncertainty, such as a count."""
        return cls(value, value, value)

    @classmethod
    def mean(
        cls, values: Float[np.ndarray, " item"], clusters: Clusters | None = None
    ) -> "Estimate":
        """The mean with its cluster-robust t interval; each value its own cluster by default."""
        ways = [np.arange(len(values))] if clusters is None else clusters
        found = mean_interval(np.asarray(values, dtype=float)[:, None], ways)
        return cls(float(found.estimate[0]), float(found.low[0]), float(found.high[0]))

    @classmethod
    def share(
        cls, values: Float[np.ndarray, " item"], clusters: Clusters | None = None
    ) -> "Estimate":
        """The mean of what is 0 to 1, its interval cut off there."""
        mean = cls.mean(values, clusters)
        return cls(mean.value, max(mean.low, 0.0), min(mean.high, 1.0))

    @classmethod
    def median(cls, values: Float[np.ndarray, " item"]) -> "Estimate":
        """The median of the finite values, with the interval of its order statistics (binomial)."""
        ordered = np.sort(values[np.isfinite(values)])
        last = len(ordered) - 1
        half = _Z * np.sqrt(len(ordered)) / 2
        low, high = (round(last / 2 + side * half) for side in (-1, 1))
        ends = ordered[max(low, 0)], ordered[min(high, last)]
        return cls(float(np.median(ordered)), float(ends[0]), float(ends[1]))

    @classmethod
    def proportion(cls, n_such: int, n_all: int) -> "Estimate":
        """A share of counted things with Wilson's interval; not a number where there are none."""
        if not n_all:
            return cls(nan, nan, nan)
        share, squared = n_such / n_all, _Z**2 / n_all
        centre = (share + squared / 2) / (1 + squared)
        half = _Z * sqrt(share * (1 - share) / n_all + squared / (4 * n_all)) / (1 + squared)
        return cls(share, max(centre - half, 0.0), min(centre + half, 1.0))


@dataclass(frozen=True, kw_only=True)
class Ask:
    """One thing that a claim asks of the figures.

    Attributes:
        name: of the figure.
        what: the figure in words.
        at_least, at_most: the bounds within which its whole interval must lie.
        is_core: whether the claim falls with it; the others are its limits.
        digits: with which the figure is written.
    """

    name: str
    what: str
    at_least: float = -inf
    at_most: float = inf
    is_core: bool = True
    digits: int = 2

    def answer(self, found: Estimate) -> Answer:
        """Whether the figure is as asked; what is not a number is never met."""
        if isnan(found.low) or isnan(found.high):
            return Answer.OPEN
        if self.at_least <= found.low and found.high <= self.at_most:
            return Answer.MET
        return (
            Answer.NOT_MET
            if found.high < self.at_least or found.low > self.at_most
            else Answer.OPEN
        )


@dataclass(frozen=True)
class Rule:
    """A claim's asks, the first of them the one that stands for it in a table.

    The claim *holds* when all are met. It *does not hold here* when one of its core is not met, or
    none is. Anything else is *within limits*.
    """

    asks: tuple[Ask, ...]

    def answers(self, evidence: Mapping[str, Estimate]) -> dict[str, Answer]:
        """The answer to each ask, by its name.

        Raises:
            ValueError: a figure is missing, or one is there that nothing asks for.
        """
        asked = {ask.name for ask in self.asks}
        if asked != set(evidence):
            raise ValueError(
                f"the rule asks for {', '.join(sorted(asked))}, and the figures are "
                f"{', '.join(sorted(evidence))}; measure what is asked, no less and no more."
            )
        return {ask.name: ask.answer(evidence[ask.name]) for ask in self.asks}

    def verdict(self, evidence: Mapping[str, Estimate]) -> Verdict:
        """The verdict on the claim."""
        answers = self.answers(evidence)
        core = [answers[ask.name] for ask in self.asks if ask.is_core]
        if all(answer is Answer.MET for answer in answers.values()):
            return Verdict.HOLDS
        if Answer.NOT_MET in core or Answer.MET not in core:
            return Verdict.DOES_NOT_HOLD
        return Verdict.WITHIN_LIMITS
