"""How far a ranking of heads repeats itself, and chance that respects how heads are built."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from interp.stats.agreement import Size
from interp.stats.clusters import Clusters, require_finite
from interp.stats.correlations import centred_ranks
from interp.stats.resampling import drawn_means, half_splits


def reliability(
    values: Sequence[Float[np.ndarray, "item head"]],
    clusters: Clusters,
    *,
    size: Size,
    n_splits: int,
    seed: int,
) -> Float[np.ndarray, " name"]:
    """Split-half reliability over heads of the ranking that all items give, 0 to 1.

    Spearman's ρ between the means of random halves of the clusters, its mean over `n_splits`
    splits, stepped up to all items by 2ρ / (1 + ρ); 0 where the halves do not agree. In a crossed
    design each way is split in turn and the lower counts: halves still share what the other way
    brings, which makes them agree too well. √ of the product of two reliabilities bounds, in a
    large sample, the correlation that two noisy rankings can show: the noise ceiling.

    Args:
        size: as in `rank_agreements`; it is taken of the means of each half.

    Source: Spearman 1910 and Brown 1910, British Journal of Psychology 3; with ranks, an
    approximation.
    """
    for each in values:
        require_finite(each, "values")
    rng = np.random.default_rng(seed)
    by_way = []
    for first in half_splits(clusters, n_splits, rng):
        by_way.append([_agreement(each, first, size) for each in values])
    lowest = np.clip(np.min(by_way, axis=0), 0, None)
    of_all: np.ndarray = 2 * lowest / (1 + lowest)
    return of_all


def _agreement(
    values: Float[np.ndarray, "item head"], first: Float[np.ndarray, "split item"], size: Size
) -> float:
    ranks = [centred_ranks(size(drawn_means(values, half))) for half in (first, 1 - first)]
    a, b = (each / np.maximum(np.linalg.norm(each, axis=1, keepdims=True), 1e-12) for each in ranks)
    return float((a * b).sum(axis=1).mean())


def restricted_p(
    measures: Float[np.ndarray, "measure head"],
    targets: Float[np.ndarray, "target head"],
    blocks: Int[np.ndarray, " head"],
    *,
    n_permutations: int,
    seed: int,
) -> Float[np.ndarray, "measure target"]:
    """Permutation p of Spearman's ρ, heads exchanged only with others of their block; two-sided.

    `(1 + #{b: |ρ_b − ρ̄| ≥ |ρ − ρ̄|}) / (B + 1)`, ρ̄ the mean over all permutations: what the blocks
    alone make of it. The least p is 1 / (B + 1). Blocks of one head say nothing: if there
    are no others, p is 1.
    """
    rng = np.random.default_rng(seed)
    in_blocks = np.argsort(blocks, kind="stable")
    keys = blocks + rng.random((n_permutations, len(blocks)))
    moved = np.empty(keys.shape, dtype=int)
    moved[:, in_blocks] = np.argsort(keys, axis=1)
    a, b = centred_ranks(measures), centred_ranks(targets)
    observed = a @ b.T
    permuted = np.stack([a @ b[:, order].T for order in moved])
    belongs = (blocks[:, None] == np.unique(blocks)).astype(float)
    centre = (a @ belongs / belongs.sum(axis=0)) @ (b @ belongs).T
    # a tie counts, however its sum was rounded
    as_far = np.abs(permuted - centre) >= np.abs(observed - centre) * (1 - 1e-9) - 1e-9
    p: np.ndarray = (1 + as_far.sum(axis=0)) / (n_permutations + 1)
    return p
