"""Do the heads that attend most also matter most? Rank agreement over heads."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy import stats

from interp.stats.clusters import Clusters, n_clusters, require_finite
from interp.stats.correlations import kendall, spearman
from interp.stats.resampling import drawn_means, draws

Size = Callable[[np.ndarray], np.ndarray]


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
    size: Size,
    n_boot: int,
    seed: int,
    confidence: float = 0.95,
) -> RankAgreement:
    """Agreement of one measure with one effect, every draw for both coefficients.

    See `rank_agreements`.
    """
    agreements = rank_agreements(
        {"scores": scores}, {"effects": effects}, clusters, size=size, n_boot=n_boot,
        n_boot_kendall=n_boot, seed=seed, confidence=confidence,
    )  # fmt: skip
    return agreements["scores", "effects"]


def rank_agreements(
    scores: Mapping[str, Float[np.ndarray, "item head"]],
    effects: Mapping[str, Float[np.ndarray, "item head"]],
    clusters: Clusters,
    *,
    size: Size,
    n_boot: int,
    n_boot_kendall: int,
    seed: int,
    confidence: float = 0.95,
) -> dict[tuple[str, str], RankAgreement]:
    """Agreement over heads between mean score and the size of the mean effect, of each with each.

    The heads are the whole population, the items a sample: clusters are drawn anew, for all scores
    and effects at once; in a crossed design each way on its own, an item's weight being the
    product. The interval is Fisher's z ± t × the bootstrap standard error of z. Percentiles of the
    draws would lie too low, for noise in the items pulls a correlation towards 0, and drawing from
    noisy items pulls once more. A draw in which all heads tie counts as a correlation of 0.

    The interval is of the agreement that as many items show on average, that first pull included;
    read it beside the split-half ceiling. Dividing all effects by one gap changes no rank, so the
    gap is not asked for.

    Args:
        size: what ranks the effects: `np.abs` for attention, which has no sign, or `np.positive`
            for signed measures.
        n_boot_kendall: how many of the draws are ranked by Kendall's τ too, which costs most.

    Raises:
        ValueError: a value is not finite, all heads have one score or one effect, a number of
            draws is below 2, or `clusters` is not one or two ways of two or more.

    Source: pigeonhole bootstrap, Owen 2007, arXiv:0712.1111.
    """
    for number in (n_boot, n_boot_kendall):
        if number < 2:
            raise ValueError(f"n_boot must be at least 2, got {number}; 2000 is usual.")
    weights = draws(clusters, n_boot, np.random.default_rng(seed))
    weights = np.concatenate([np.ones((1, weights.shape[1])), weights])
    of_scores = _all_means(scores, "score", weights, np.positive)
    of_effects = _all_means(effects, "effect", weights, size)
    df = n_clusters(clusters) - 1
    rho = spearman(of_scores, of_effects)
    few = slice(n_boot_kendall + 1)
    tau = kendall(of_scores[:, few], of_effects[:, few])
    return {
        (score, effect): RankAgreement(
            spearman=_correlation(rho[i, j], df, confidence),
            kendall=_correlation(tau[i, j], df, confidence),
        )
        for i, score in enumerate(scores)
        for j, effect in enumerate(effects)
    }


def _all_means(
    values: Mapping[str, Float[np.ndarray, "item head"]],
    what: str,
    weights: Float[np.ndarray, "draw item"],
    size: Size,
) -> Float[np.ndarray, "name draw head"]:
    """Means of every draw, the observed ones first."""
    for each in values.values():
        require_finite(each, f"{what}s")
    means = np.stack([size(drawn_means(each, weights)) for each in values.values()])
    for observed in means[:, 0]:
        if np.ptp(observed) == 0:
            raise ValueError(
                f"a ranking needs heads that differ, got the same mean {what} "
                f"{observed[0]:.3g} for all {len(observed)}; check that the measure applies here."
            )
    return means


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
