"""Would other items have put the same heads first?"""

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float

from interp.contrast.observations import SELECTIVITY, Observations
from interp.stats.resampling import drawn_means, draws

TOP = 10
N_DRAWS = 1000


def stability(data: Observations, *, k: int = TOP, seed: int) -> pd.DataFrame:
    """How much of the top k of each ranking stays when clusters of items are drawn anew.

    One row a ranking: `ranking` (a tier, by |mean effect|; or a measure of attention, by its mean),
    `k` (at most half of the heads), and the Jaccard index of the top k of a draw with that of all
    items: `jaccard`, its mean over draws, `low` and `high`, between which it lies in 95 % of them.
    1: the same heads in every draw. A draw has fewer different items than there are, so that the
    index is a little too low.
    """
    k = min(k, max(1, len(data.heads) // 2))
    weights = draws(data.clusters, N_DRAWS, np.random.default_rng(seed))
    defined = [name for name in SELECTIVITY if not np.isnan(data.scores[name]).any()]
    rankings = data.effects | {name: data.scores[name] for name in defined}
    rows = []
    for name, values in rankings.items():
        size = np.abs if name in data.effects else np.positive
        leading = _top(size(values.mean(axis=0))[None], k)
        drawn = _top(size(drawn_means(values, weights)), k)
        n_shared = (drawn & leading).sum(axis=1)
        jaccard = n_shared / (2 * k - n_shared)
        low, high = np.quantile(jaccard, [0.025, 0.975], method="inverted_cdf")
        rows.append({"ranking": name, "k": k, "jaccard": jaccard.mean(), "low": low, "high": high})
    return pd.DataFrame(rows)


def _top(values: Float[np.ndarray, "draw head"], k: int) -> Bool[np.ndarray, "draw head"]:
    """Which heads are the first k of each draw; of equals the one that stands first."""
    order = np.argsort(-values, axis=1, kind="stable")
    is_in: np.ndarray = np.zeros(values.shape, dtype=bool)
    np.put_along_axis(is_in, order[:, :k], values=True, axis=1)
    return is_in
