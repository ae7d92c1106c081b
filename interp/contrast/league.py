"""How well each measure ranks heads by what their removal does."""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int

from interp.contrast.contenders import Contender
from interp.contrast.observations import TIERS, Observations
from interp.stats import rank_agreements
from interp.stats.correlations import partial_spearman, spearman
from interp.stats.reliability import reliability, restricted_p

N_BOOT = 1000
N_BOOT_KENDALL = 300
N_SPLITS = 50
N_PERMUTATIONS = 1999


def league(
    contenders: Sequence[Contender],
    data: Observations,
    *,
    blocks: Int[np.ndarray, " head"],
    seed: int,
) -> pd.DataFrame:
    """Rank agreement over heads of each measure with the effect at each tier, a row each.

    With |effect|; of measures that know the metric, and so claim a sign, with the signed effect.
    Over the `n_heads` heads on which the measure is defined for every item.

    - `spearman`, `kendall` (τ_b), with 95 % intervals: a bootstrap over clusters for both sides.
    - `partial`: Spearman's ρ with layers held still. `p`: of ρ, two-sided, when heads may only
      change places with heads of their layer that share their keys and values.
    - `ceiling`: √ of the product of both sides' split-half reliabilities, the most that ρ could be
      with so much noise; `of_ceiling`: ρ over it.
    - `random_init`: ρ of the same measure in models that have learned nothing, mean over seeds;
      `label_swap`: with source and distractor exchanged. Floors.

    A measure that ranks no heads at a tier, or a tier at which no head differs, gives no row.

    Args:
        blocks: numbers the sets within which heads are exchangeable.
    """
    rows: list[dict[str, object]] = []
    for tier in [tier for tier in TIERS if tier in data.effects]:
        effects = data.effects[tier]
        for group, defined in _alike(contenders, tier):
            size = np.positive if group[0].is_signed else np.abs
            target = size(effects[:, defined].mean(axis=0))
            if np.ptp(target) <= 1e-6 * np.abs(target).max():
                continue
            rows += _rows(group, data, tier, defined, blocks, seed)
    order = {contender.name: place for place, contender in enumerate(contenders)}
    table = pd.DataFrame(rows)
    if table.empty:
        return table
    return table.sort_values(
        ["tier", "measure"],
        key=lambda column: column.map(order if column.name == "measure" else list(TIERS).index),
        ignore_index=True,
    )


def left_out(contenders: Sequence[Contender], tiers: Sequence[str]) -> pd.DataFrame:
    """Which measures rank no heads, and why: `measure`, `tier`, `reason`."""
    rows = [
        (contender.name, tier, reason)
        for contender in contenders
        for tier in tiers
        if (reason := contender.why_no_ranking(tier))
    ]
    return pd.DataFrame(rows, columns=["measure", "tier", "reason"])


def _rows(
    group: Sequence[Contender],
    data: Observations,
    tier: str,
    defined: Bool[np.ndarray, " head"],
    blocks: Int[np.ndarray, " head"],
    seed: int,
) -> list[dict[str, object]]:
    size = np.positive if group[0].is_signed else np.abs
    effects = data.effects[tier][:, defined]
    scores = {each.name: each.by_tier[tier][:, defined] for each in group}
    found = rank_agreements(
        scores, {tier: effects}, data.clusters, size=size, n_boot=N_BOOT,
        n_boot_kendall=N_BOOT_KENDALL, seed=seed,
    )  # fmt: skip
    means = np.stack([each.mean(axis=0) for each in scores.values()])
    target = size(effects.mean(axis=0))[None]
    layers = np.array([head.layer for head in data.heads])[defined]
    partial = partial_spearman(means[:, None], target[:, None], layers)[:, 0, 0]
    p = restricted_p(
        means, target, blocks[defined], n_permutations=N_PERMUTATIONS, seed=seed
    )[:, 0]  # fmt: skip
    of_scores = reliability(
        list(scores.values()), data.clusters, size=np.positive, n_splits=N_SPLITS, seed=seed
    )
    of_effect = reliability(
        [effects], data.clusters, size=size, n_splits=N_SPLITS, seed=seed
    )[0]  # fmt: skip
    rows = []
    for place, each in enumerate(group):
        agreement = found[each.name, tier]
        ceiling = float(np.sqrt(of_scores[place] * of_effect))
        rows.append(
            {
                "measure": each.name,
                "league": each.league,
                "tier": tier,
                "n_heads": int(defined.sum()),
                "spearman": agreement.spearman.estimate,
                "spearman_low": agreement.spearman.low,
                "spearman_high": agreement.spearman.high,
                "kendall": agreement.kendall.estimate,
                "kendall_low": agreement.kendall.low,
                "kendall_high": agreement.kendall.high,
                "partial": partial[place],
                "p": p[place],
                "ceiling": ceiling,
                "of_ceiling": agreement.spearman.estimate / ceiling if ceiling else np.nan,
                "random_init": _floor(each.random_init.get(tier), target[0], defined),
                "label_swap": _floor(
                    None if each.swapped is None else each.swapped[None], target[0], defined
                ),
            }
        )
    return rows


def _floor(
    means: Float[np.ndarray, "seed head"] | None,
    target: Float[np.ndarray, " defined"],
    defined: Bool[np.ndarray, " head"],
) -> float:
    """ρ of other means for the same heads, its mean over seeds; NaN where there are none."""
    if means is None:
        return np.nan
    means = means[:, defined]
    usable = ~np.isnan(means).any(axis=1)
    if not usable.any():
        return np.nan
    return float(spearman(means[usable][:, None], target[None, None]).mean())


def _alike(
    contenders: Sequence[Contender], tier: str
) -> Iterator[tuple[list[Contender], Bool[np.ndarray, " head"]]]:
    """The measures that rank the same heads and claim a sign, or not, together."""
    groups: dict[tuple[bool, bytes], list[Contender]] = {}
    for contender in contenders:
        if not contender.why_no_ranking(tier):
            key = (contender.is_signed, contender.defined(tier).tobytes())
            groups.setdefault(key, []).append(contender)
    for group in groups.values():
        yield group, group[0].defined(tier)
