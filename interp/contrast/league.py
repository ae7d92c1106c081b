"""How well each measure of attention ranks heads by what their removal does."""

import numpy as np
import pandas as pd
from jaxtyping import Float

from interp.contrast.observations import TIERS, Observations
from interp.stats import rank_agreement

N_BOOT = 2000


def league(data: Observations, *, seed: int) -> pd.DataFrame:
    """Rank agreement over heads of each measure with the size of the effect at each tier.

    Spearman's ρ and Kendall's τ_b with |effect|, over the `n_heads` heads on which the measure is
    defined for every item; intervals from a bootstrap over clusters, for both sides at once. On
    pairs in which the source moves, the mean margin is the CAS by construction, so it stands only
    where there is no CAS. A measure or tier on which all heads are the same gives no ranking and no
    row. Empty where the items name no source.
    """
    rows = []
    cas_is_defined = not np.isnan(data.scores["cas"]).any()
    for measure in ("raw", "sink_corrected", "cas" if cas_is_defined else "margin"):
        scores = data.scores[measure]
        defined = ~np.isnan(scores).any(axis=0)
        if not defined.any():
            continue
        for tier in [tier for tier in TIERS if tier in data.effects]:
            sizes = np.abs(data.effects[tier][:, defined].mean(axis=0))
            if not (_differ(scores[:, defined].mean(axis=0)) and _differ(sizes)):
                continue
            agreement = rank_agreement(
                scores[:, defined],
                data.effects[tier][:, defined],
                data.clusters,
                size=np.abs,
                n_boot=N_BOOT,
                seed=seed,
            )
            rows.append(
                {
                    "measure": measure,
                    "tier": tier,
                    "spearman": agreement.spearman.estimate,
                    "spearman_low": agreement.spearman.low,
                    "spearman_high": agreement.spearman.high,
                    "kendall": agreement.kendall.estimate,
                    "kendall_low": agreement.kendall.low,
                    "kendall_high": agreement.kendall.high,
                    "n_heads": int(defined.sum()),
                }
            )
    return pd.DataFrame(rows)


def _differ(means: Float[np.ndarray, " head"]) -> bool:
    """Whether heads are not all the same, up to rounding in fp32."""
    return bool(np.ptp(means) > 1e-6 * np.abs(means).max())
