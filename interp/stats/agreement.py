"""Do the heads that attend most also matter most? Rank agreement over heads."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy import stats

from interp.stats.clusters import Clusters, cluster_codes, n_clusters, require_finite


@dataclass(frozen=True, kw_only=True)
class Correlation:
    """A rank correlation, −1 to 1, with its confidence interval."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class RankAgreement:
    """Spearman's ρ and Kendall's τ_b between two rankings of the same heads."""

    spearman: Correlation
    kendall: Correlation


def rank_agreement(
    scores: Float[np.ndarray, "item head"],
    effects: Float[np.ndarray, "item head"],
    clusters: Clusters,
    *,
    size: Callable[[np.ndarray], np.ndarray],
    n_boot: int,
    seed: int,
    confidence: float = 0.95,
) -> RankAgreement:
    """Agreement over heads between mean score and the size of the mean effect.

    The heads are the whole population, the items a sample: clusters are drawn anew, for scores and
    effects at once; in a crossed design each way on its own, an item's weight being the product.
    The interval is Fisher's z ± t × the bootstrap standard error of z. Percentiles of the draws
    would lie too low, for noise in the items pulls a correlation towards 0, and drawing from noisy
    items pulls once more. A draw in which all heads tie counts as a correlation of 0.

    The interval is of the agreement that as many items show on average, that first pull included;
    read it beside the split-half ceiling. Dividing all effects by one gap changes no rank, so the
    gap is not asked for.

    Args:
        size: what ranks the effects: `np.abs` for attention, which has no sign, or `np.positive`
            for signed measures.

    Raises:
        ValueError: a value is not finite, all heads have one score or one effect, `n_boot` is
            below 2, or `clusters` is not one or two ways of two or more.

    Source: pigeonhole bootstrap, Owen 2007, arXiv:0712.1111.
    """
    require_finite(scores, "scores")
    require_finite(effects, "effects")
    if n_boot < 2:
        raise ValueError(f"n_boot must be at least 2, got {n_boot}; 2000 is usual.")
    everything = np.ones((1, len(scores)))
    weights = np.concatenate([everything, _draws(clusters, n_boot, np.random.default_rng(seed))])
    mean_scores, mean_effects = _means(scores, weights), size(_means(effects, weights))
    for name, means in {"score": mean_scores[0], "effect": mean_effects[0]}.items():
        if np.ptp(means) == 0:
            raise ValueError(
                f"a ranking needs heads that differ, got the same mean {name} "
                f"{means[0]:.3g} for all {len(means)}; check that the measure applies here."
            )
    df = n_clusters(clusters) - 1
    return RankAgreement(
        spearman=_correlation(_spearman(mean_scores, mean_effects), df, confidence),
        kendall=_correlation(_kendall(mean_scores, mean_effects), df, confidence),
    )


def _draws(
    clusters: Clusters, n_boot: int, rng: np.random.Generator
) -> Float[np.ndarray, "draw item"]:
    """How often each item is drawn; draws of a sparse design that hold no item are left out."""
    weights = np.ones((n_boot, len(clusters[0])))
    for way in cluster_codes(clusters):
        count = int(way.max()) + 1
        weights *= rng.multinomial(count, np.full(count, 1 / count), size=n_boot)[:, way]
    return weights[weights.any(axis=1)]


def _means(
    values: Float[np.ndarray, "item head"], weights: Float[np.ndarray, "draw item"]
) -> Float[np.ndarray, "draw head"]:
    means: Float[np.ndarray, "draw head"] = weights @ values / weights.sum(axis=1, keepdims=True)
    return means


def _spearman(
    first: Float[np.ndarray, "draw head"], second: Float[np.ndarray, "draw head"]
) -> Float[np.ndarray, " draw"]:
    ranks = stats.rankdata([first, second], axis=-1)
    centred = ranks - ranks.mean(axis=-1, keepdims=True)
    length = np.linalg.norm(centred, axis=-1, keepdims=True)
    a, b = np.divide(centred, length, out=np.zeros_like(centred), where=length > 0)
    correlation: Float[np.ndarray, " draw"] = (a * b).sum(axis=-1)
    return correlation


def _kendall(
    first: Float[np.ndarray, "draw head"], second: Float[np.ndarray, "draw head"]
) -> Float[np.ndarray, " draw"]:
    each = [stats.kendalltau(a, b).statistic for a, b in zip(first, second, strict=True)]
    return np.where(np.isnan(each), 0.0, each)


def _correlation(
    observed_and_draws: Float[np.ndarray, " draw"], df: int, confidence: float
) -> Correlation:
    just_within_one = 1 - 1e-9  # so that a perfect agreement of few heads has a finite z
    z = np.arctanh(np.clip(observed_and_draws, -just_within_one, just_within_one))
    small_sample = np.sqrt((df + 1) / df)
    half = stats.t.ppf((1 + confidence) / 2, df) * small_sample * z[1:].std()
    return Correlation(
        estimate=float(observed_and_draws[0]),
        low=float(np.tanh(z[0] - half)),
        high=float(np.tanh(z[0] + half)),
    )
