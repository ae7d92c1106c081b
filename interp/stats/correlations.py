"""Rank correlations over heads, of each of several measures with each of several targets.

Each draw is a ranking by itself: `[measure, draw, head]` and `[target, draw, head]` give
`[measure, target, draw]`. Where all heads of a draw tie, the correlation is 0.
"""

import numpy as np
from jaxtyping import Float, Int
from scipy import stats


def spearman(
    measures: Float[np.ndarray, "measure draw head"], targets: Float[np.ndarray, "target draw head"]
) -> Float[np.ndarray, "measure target draw"]:
    """Spearman's ρ."""
    return _products(centred_ranks(measures), centred_ranks(targets))


def partial_spearman(
    measures: Float[np.ndarray, "measure draw head"],
    targets: Float[np.ndarray, "target draw head"],
    groups: Int[np.ndarray, " head"],
) -> Float[np.ndarray, "measure target draw"]:
    """Spearman's ρ with the groups held still: ranks less their mean in each group.

    It is the correlation of what is left of both ranks after a regression on the groups.
    """
    return _products(*(_within(centred_ranks(each), groups) for each in (measures, targets)))


def kendall(
    measures: Float[np.ndarray, "measure draw head"], targets: Float[np.ndarray, "target draw head"]
) -> Float[np.ndarray, "measure target draw"]:
    """Kendall's τ_b, by counting pairs of heads: concordant less discordant, over untied ones."""
    first, second = np.triu_indices(measures.shape[-1], k=1)
    found = np.empty((len(measures), len(targets), measures.shape[1]))
    for draw in range(measures.shape[1]):
        a, b = (
            # in fp32 counts of pairs are exact up to 16,777,216 of them: 5,793 heads
            np.sign(each[:, draw, first] - each[:, draw, second]).astype(np.float32)
            for each in (measures, targets)
        )
        untied = np.sqrt(np.outer((a != 0).sum(axis=1), (b != 0).sum(axis=1)))
        found[:, :, draw] = np.divide(a @ b.T, untied, out=np.zeros_like(untied), where=untied > 0)
    return found


def centred_ranks(values: Float[np.ndarray, "*draw head"]) -> Float[np.ndarray, "*draw head"]:
    """Ranks less their mean; those that tie share the mean of their ranks."""
    centred: np.ndarray = stats.rankdata(values, axis=-1) - (values.shape[-1] + 1) / 2
    return centred


def _within(
    ranks: Float[np.ndarray, "*draw head"], groups: Int[np.ndarray, " head"]
) -> Float[np.ndarray, "*draw head"]:
    belongs = groups[:, None] == np.unique(groups)
    means = ranks @ (belongs / belongs.sum(axis=0))
    within: np.ndarray = ranks - means @ belongs.T
    # what is left of ranks that are one in each group is rounding
    return np.where(np.abs(within).max(axis=-1, keepdims=True) < 1e-9, 0.0, within)


def _products(
    measures: Float[np.ndarray, "measure draw head"], targets: Float[np.ndarray, "target draw head"]
) -> Float[np.ndarray, "measure target draw"]:
    products: np.ndarray = np.einsum(
        "mdh,tdh->mtd", _of_length_1(measures), _of_length_1(targets), optimize=True
    )
    return products


def _of_length_1(values: Float[np.ndarray, "*draw head"]) -> Float[np.ndarray, "*draw head"]:
    length = np.linalg.norm(values, axis=-1, keepdims=True)
    unit: np.ndarray = np.divide(values, length, out=np.zeros_like(values), where=length > 0)
    return unit
