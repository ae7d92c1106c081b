"""Populations of sweeps whose true means are known, made from the effects of a real sweep."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from interp.resources import data_folder
from interp.stats import Clusters

Levels = Float[np.ndarray, "level column"]
"""Centred values, one row a cluster that a sweep may draw, one column a head, and the gap last."""

TASKS = ("coreference", "agreement")

Draw = Callable[[np.random.Generator, Levels, int], Float[np.ndarray, "drawn column"]]


class Design(NamedTuple):
    """How many clusters a sweep has on one side, and on the other of a crossed design."""

    n_own: int
    n_other: int = 1

    def __str__(self) -> str:
        return f"{self.n_own} × {self.n_other}" if self.n_other > 1 else f"{self.n_own} clusters"


class Sweep(NamedTuple):
    """A drawn sweep: one item a cluster, or a cell of a crossed design.

    Attributes:
        chance: effects less their true means.
        gap: the denominator of shares.
        clusters: one or two ways.
    """

    chance: Float[np.ndarray, "item head"]
    gap: Float[np.ndarray, " item"]
    clusters: Clusters


def resampled(
    rng: np.random.Generator, levels: Levels, n: int
) -> Float[np.ndarray, "drawn column"]:
    """Whole rows drawn with replacement: skew and correlations between heads are the real ones."""
    return levels[rng.integers(len(levels), size=n)]


def gaussian(rng: np.random.Generator, levels: Levels, n: int) -> Float[np.ndarray, "drawn column"]:
    """Normal rows with the covariance of the real ones."""
    weights = rng.standard_normal((n, len(levels))) / np.sqrt(len(levels))
    drawn: Float[np.ndarray, "drawn column"] = weights @ levels
    return drawn


@dataclass(frozen=True, kw_only=True)
class Population:
    """What sweeps are drawn from: a mean, and chance that comes in clusters.

    Draws are independent and with replacement, so that the means of `effects` and `gap` are the
    exact expectations, and a sweep is never the whole population. A sweep of few clusters often
    misses a rare large level; this is what skew does in real sweeps too.

    Attributes:
        effects: true mean effect of each head, in logits.
        gap: true mean gap, in logits.
        own, other, cells: centred effects of the levels of either way and of the cells; the last
            two are None where there is one way.
        draw: `resampled` or `gaussian`.
    """

    name: str
    effects: Float[np.ndarray, " head"]
    gap: float
    own: Levels
    other: Float[np.ndarray, "other column"] | None = None
    cells: Float[np.ndarray, "cell column"] | None = None
    draw: Draw = resampled

    def sweep(self, rng: np.random.Generator, design: Design) -> Sweep:
        """Clusters, and the cells of a crossed design, drawn anew.

        Raises:
            ValueError: the design is crossed and the population is not, or the other way round.
        """
        if (self.other is None) != (design.n_other == 1):
            raise ValueError(
                f"a design of {design} needs a population of as many ways, got {self.name}."
            )
        own = np.repeat(np.arange(design.n_own), design.n_other)
        columns = self.draw(rng, self.own, design.n_own)[own]
        clusters = [own]
        if self.other is not None and self.cells is not None:
            other = np.tile(np.arange(design.n_other), design.n_own)
            columns = columns + self.draw(rng, self.other, design.n_other)[other]
            columns += self.draw(rng, self.cells, len(own))
            clusters.append(other)
        return Sweep(chance=columns[:, :-1], gap=columns[:, -1] + self.gap, clusters=clusters)

    def as_gaussian(self) -> "Population":
        """The same means and covariances, and no skew."""
        return replace(self, name=f"{self.name}, Gaussian", draw=gaussian)


def real_populations() -> list[Population]:
    """SmolLM2's effects at the query, by task: of pairs that share nothing, and of both its words.

    See `analyses.real_effects`.
    """
    found = []
    with np.load(str(data_folder() / "real_effects.npz"), allow_pickle=False) as arrays:
        for task in TASKS:
            columns = np.column_stack([arrays[f"{task}.effects"], arrays[f"{task}.gap"]])
            columns = columns.astype(float)
            found.append(one_way(task, columns))
            found.append(crossed(task, columns, arrays[f"{task}.clusters"]))
    return found


def one_way(name: str, columns: Float[np.ndarray, "pair column"]) -> Population:
    """Each pair is a cluster."""
    mean = columns.mean(axis=0)
    return Population(name=name, effects=mean[:-1], gap=float(mean[-1]), own=columns - mean)


def crossed(
    name: str, columns: Float[np.ndarray, "pair column"], clusters: Int[np.ndarray, "way pair"]
) -> Population:
    """Effects of both ways and what is left in the cells, by least squares; each centred."""
    mean = columns.mean(axis=0)
    indicators = [np.eye(way.max() + 1)[way] for way in clusters]
    solved = np.linalg.lstsq(np.hstack(indicators), columns - mean)[0]
    own, other = np.split(solved, [indicators[0].shape[1]])
    cells = columns - mean - np.hstack(indicators) @ solved
    return Population(
        name=name,
        effects=mean[:-1],
        gap=float(mean[-1]),
        own=own - own.mean(axis=0),
        other=other - other.mean(axis=0),
        cells=cells - cells.mean(axis=0),
    )
