"""Shares of what a reference removes, with intervals from clusters drawn anew for all at once."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy import stats

from interp.stats.clusters import Clusters, n_clusters, require_finite
from interp.stats.resampling import drawn_means, draws


@dataclass(frozen=True, kw_only=True)
class Bounded:
    """Estimates with their confidence intervals.

    Attributes:
        estimate, low, high: of one shape.
    """

    estimate: Float[np.ndarray, "*any"]
    low: Float[np.ndarray, "*any"]
    high: Float[np.ndarray, "*any"]


def drawn_shares(
    parts: Float[np.ndarray, "item order k"],
    whole: Float[np.ndarray, "item k"],
    clusters: Clusters,
    *,
    n_boot: int,
    seed: int,
) -> Float[np.ndarray, "draw order k"]:
    """mean(part) / mean(whole) over items, ratio of means: as observed, then in each draw.

    Clusters are drawn with replacement, each way of a crossed design on its own, the same for all
    orders and k: what is computed from the draws of several shares, such as a difference, has the
    interval that `bounded` gives it.

    Raises:
        ValueError: a value is not finite, or `clusters` is not one or two ways of two or more.
    """
    require_finite(parts, "parts")
    require_finite(whole, "the whole")
    weights = draws(clusters, n_boot, np.random.default_rng(seed))
    weights = np.concatenate([np.ones((1, weights.shape[1])), weights])
    of_parts = drawn_means(parts.reshape(len(parts), -1), weights)
    shares: np.ndarray = (
        of_parts.reshape(len(weights), *parts.shape[1:]) / drawn_means(whole, weights)[:, None]
    )
    return shares


def bounded(
    observed_and_draws: Float[np.ndarray, "draw *any"],
    clusters: Clusters,
    *,
    confidence: float = 0.95,
) -> Bounded:
    """The first is the estimate; its interval is ± t × the standard error of the others.

    t has one degree of freedom less than the clusters of the smaller side. Percentiles of the draws
    would be too narrow for few clusters.
    """
    df = n_clusters(clusters) - 1
    small_sample = np.sqrt((df + 1) / df)
    half = stats.t.ppf((1 + confidence) / 2, df) * small_sample * observed_and_draws[1:].std(axis=0)
    estimate = observed_and_draws[0]
    return Bounded(estimate=estimate, low=estimate - half, high=estimate + half)
