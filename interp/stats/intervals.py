"""Cluster-robust intervals of a mean, and of a ratio of means, for every head at once."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy import stats

from interp.stats.clusters import (
    Clusters,
    Codes,
    cluster_codes,
    cluster_sums,
    crossed_codes,
    n_clusters,
    require_finite,
)


@dataclass(frozen=True, kw_only=True)
class Interval:
    """An estimate for each head, with its confidence interval.

    Attributes:
        estimate, low, high, se: in the unit of the values (a ratio has none).
        df: degrees of freedom of t, one less than the number of clusters on the smaller side.
        p_value: two-sided, that the estimate is 0; not adjusted for the number of heads.
    """

    estimate: Float[np.ndarray, "*head"]
    low: Float[np.ndarray, "*head"]
    high: Float[np.ndarray, "*head"]
    se: Float[np.ndarray, "*head"]
    df: int
    p_value: Float[np.ndarray, "*head"]


def mean_interval(
    values: Float[np.ndarray, "item *head"], clusters: Clusters, *, confidence: float = 0.95
) -> Interval:
    """The mean over items, with a cluster-robust t interval.

    In a crossed design the two one-way variances are added, and that of the cells, counted twice,
    is taken off. Where that leaves less than a one-way variance (it can leave less than 0), the
    larger one-way variance stands instead: among hundreds of heads, the one whose variance came
    out smallest by chance would pass for the most significant.

    Where effects are skewed and clusters few, it is a little short: redrawn from effects of SmolLM2
    on coreference, an interval of 95 % covers 93.1 % at 16 clusters of one pair, 93.7 % at 32; on
    agreement 94.4 % at both, and crossed 16 × 8 it covers 95.7 to 96.3 %.

    Raises:
        ValueError: a value is not finite, or `clusters` is not one or two ways of two or more.

    Source: Cameron, Gelbach and Miller 2011, doi:10.1198/jbes.2010.07136. Variances that come out
    too small, and remedies: MacKinnon, Nielsen and Webb 2024, arXiv:2406.08880.
    """
    require_finite(values, "values")
    mean = values.mean(axis=0, dtype=np.float64)
    return _interval(mean, values - mean, clusters, confidence)


def ratio_interval(
    numerator: Float[np.ndarray, "item *head"],
    denominator: Float[np.ndarray, " item"],
    clusters: Clusters,
    *,
    confidence: float = 0.95,
) -> Interval:
    """Ratio of means, mean(numerator) / mean(denominator), with a cluster-robust t interval.

    The interval is linearised (delta method): the residuals numerator − ratio × denominator,
    over the mean denominator, are treated as values. A mean of ratios would be another quantity,
    inflated by items whose denominator is small.

    Raises:
        ValueError: a value is not finite, `clusters` is not one or two ways of two or more, or
            the interval of the mean denominator holds 0: then no bounded interval of the ratio
            exists (Fieller).
    """
    require_finite(numerator, "numerator")
    scale = mean_interval(denominator[:, None], clusters, confidence=confidence)
    if scale.low[0] <= 0 <= scale.high[0]:
        raise ValueError(
            f"a ratio needs a mean denominator that is distinct from 0, got {scale.estimate[0]:.3g}"
            f" ± {scale.se[0]:.3g}; check that the behaviour is there before normalising by it."
        )
    mean = scale.estimate[0]
    ratio = numerator.mean(axis=0, dtype=np.float64) / mean
    residuals = (numerator - np.multiply.outer(denominator, ratio)) / mean
    return _interval(ratio, residuals, clusters, confidence)


def _interval(
    estimate: Float[np.ndarray, "*head"],
    residuals: Float[np.ndarray, "item *head"],
    clusters: Clusters,
    confidence: float,
) -> Interval:
    se = np.sqrt(variance_of_mean(residuals, cluster_codes(clusters)))
    df = n_clusters(clusters) - 1
    half = stats.t.ppf((1 + confidence) / 2, df) * se
    without_spread = np.where(estimate == 0, 0.0, np.inf)
    t = np.divide(np.abs(estimate), se, out=without_spread, where=se > 0)
    return Interval(
        estimate=estimate,
        low=estimate - half,
        high=estimate + half,
        se=se,
        df=df,
        p_value=2 * stats.t.sf(t, df),
    )


def variance_of_mean(
    residuals: Float[np.ndarray, "item *head"], ways: list[Codes]
) -> Float[np.ndarray, "*head"]:
    """Cluster-robust, one-way or two-way; see `mean_interval`."""
    variances = [_one_way_variance(residuals, way) for way in ways]
    if len(ways) == 2:
        variances.append(sum(variances) - _one_way_variance(residuals, crossed_codes(*ways)))
    largest: Float[np.ndarray, "*head"] = np.max(variances, axis=0)
    return largest


def _one_way_variance(
    residuals: Float[np.ndarray, "item *head"], codes: Codes
) -> Float[np.ndarray, "*head"]:
    sums = cluster_sums(residuals, codes)
    small_sample = len(sums) / (len(sums) - 1)
    variance: Float[np.ndarray, "*head"] = (
        small_sample * (sums**2).sum(axis=0) / len(residuals) ** 2
    )
    return variance
