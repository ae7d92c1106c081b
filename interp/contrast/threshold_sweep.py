"""The counts of heads that attend and that matter, at thresholds other than those chosen."""

from itertools import product

import pandas as pd

from interp.contrast.observations import TIERS

ATTENDS = (0.02, 0.05, 0.1, 0.2)
MATTERS = (0.02, 0.05, 0.1)


def threshold_sweep(
    verdicts: pd.DataFrame, measure: str, *, alpha: float, chance: float
) -> pd.DataFrame:
    """How many heads attend, matter, both, and attend without mattering; a row two thresholds.

    `attends` is the least raw attention, `matters` the least |effect| as a share of the gap;
    `n_attend` heads have that much, twice what even attention would give (or half of all), and a
    lower bound of `measure` above 0; `n_matter` heads have such an effect at any tier,
    significantly; `n_both` do both. `n_idle_looking` heads attend and have no tier at which the
    effect is that large, significant or not: looking idle at a threshold is not being idle.

    Args:
        verdicts: one row a head, with effects, their adjusted p-values, and bounds of `measure`.
        chance: attention to the source that is spread evenly over all keys that are no sink.
    """
    sizes = verdicts[[f"effect_{tier}" for tier in TIERS]].abs()
    is_significant = verdicts[[f"effect_{tier}_p" for tier in TIERS]].to_numpy() < alpha
    rows = []
    for attends, matters in product(ATTENDS, MATTERS):
        enough = max(attends, min(2 * chance, 0.5))
        attending = (verdicts["raw"] >= enough) & (verdicts[f"{measure}_low"] > 0)
        is_large = sizes >= matters
        mattering = (is_large & is_significant).any(axis=1)
        rows.append(
            {
                "attends": attends,
                "matters": matters,
                "n_attend": int(attending.sum()),
                "n_matter": int(mattering.sum()),
                "n_both": int((attending & mattering).sum()),
                "n_idle_looking": int((attending & ~is_large.any(axis=1)).sum()),
            }
        )
    return pd.DataFrame(rows)
