"""Does a head matter once those are removed that would stand in for it?"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd
from jaxtyping import Float

from interp.contrast.thresholds import Thresholds
from interp.effects.metrics import LOGIT_DIFFERENCE, Metric
from interp.effects.repair import direct_effects
from interp.effects.scopes import AnyScope, Scope
from interp.evidence.folds import Fold
from interp.evidence.removal import Removal, removal
from interp.evidence.rises import direct_rises
from interp.heads import Head
from interp.models.model import Model
from interp.stats import adjusted_p, mean_interval

Backups = dict[Head, list[Head]]


def redundancy(
    model: Model,
    folds: Sequence[Fold],
    heads: Sequence[Head],
    *,
    among: Sequence[Head],
    scope: AnyScope,
    thresholds: Thresholds,
    metric: Metric = LOGIT_DIFFERENCE,
) -> pd.DataFrame:
    """What each head's removal adds once its backups are removed: Δ(backups ∪ h) − Δ(backups).

    For heads that attend and show little effect: such a head is redundant, and not idle, when this
    is large. Its backups are, together, `later_backups` and `either_backups`. One row a head:
    `layer`, `head`, `backups` (labels with commas, empty where there is none), `alone` (its effect
    by itself) and `conditional` with its 95 % interval `low`, `high`, both shares of m_clean − m_∅,
    and `p`, two-sided, adjusted by Holm for all heads that were asked about. Without a backup there
    is no conditional effect: NaN.

    Backups are chosen on the items on which the effect is then tested, so a conditional effect that
    is just large enough wants confirmation on other items.

    Args:
        among: who may be a backup by `either_backups`: as a rule the heads that attend. Every pair
            of one of `heads` with one of these is removed together.
        scope: the widest that the prompts allow; heads upstream show nothing at the query.
        metric: of another than the logit difference later heads say nothing by themselves, and
            there are `either_backups` alone.

    Raises:
        ValueError: there is no head, or see `removal` and `direct_rises`.
    """
    if not heads:
        raise ValueError("expected at least one head to look for backups of, got none.")
    heads = sorted(set(heads))
    pairs = {
        pair: list(pair) for pair in combinations(sorted({*heads, *among}), 2) if {*pair} & {*heads}
    }
    sets: dict[str, Sequence[Head]] = {head.label: [head] for head in sorted({*heads, *among})}
    sets |= {_both(*pair): both for pair, both in pairs.items()}
    found = removal(model, folds, sets, scope=scope, metric=metric)
    least = thresholds.matters / 2
    later: Backups = {head: [] for head in heads}
    if metric is LOGIT_DIFFERENCE:
        later = later_backups(model, folds, heads, found, scope=scope, least=least)
    either = either_backups(found, heads, list(pairs), least=least)
    backups = {head: sorted({*later[head], *either[head]}) for head in heads}
    return _conditional(model, folds, backups, found, scope, metric)


def later_backups(
    model: Model,
    folds: Sequence[Fold],
    heads: Sequence[Head],
    found: Removal,
    *,
    scope: AnyScope,
    least: float,
) -> Backups:
    """Later heads that speak up for the answer when a head is removed.

    What such a head says at the query by itself (as in `direct_effects`, against the same baseline,
    the final norm's scale frozen) rises by `least` of m_clean − m_∅, above 0: a head that spoke
    against the answer and stops is an eraser, and no backup. The rise is told from 0 at 95 %.
    """
    rises = np.concatenate(
        [
            direct_rises(model, fold.batches, heads, scope=scope, baseline=fold.baseline)
            for fold in folds
        ]
    )
    share = found.share(rises)
    before = _said_intact(model, folds).reshape(rises.shape[2:]) / found.whole.mean()
    above_nothing = np.maximum(before + share.estimate, 0) - np.maximum(before, 0)
    is_backup = (above_nothing >= least) & (share.low > 0)
    return {
        head: [Head(int(layer), int(number)) for layer, number in np.argwhere(is_backup[place])]
        for place, head in enumerate(heads)
    }


def either_backups(
    found: Removal, heads: Sequence[Head], pairs: Sequence[tuple[Head, Head]], *, least: float
) -> Backups:
    """Heads of which, with a given one, either is enough: both removed do more than each alone.

    That finds pairs far from the logits, which say nothing there themselves. The excess is taken
    over what each helps by itself, so that a head is no backup of the one that undoes it.
    """
    backups: Backups = {head: [] for head in heads}
    if not pairs:
        return backups
    one, other, both = (
        found.effects[names].to_numpy(float)
        for names in (
            [pair[0].label for pair in pairs],
            [pair[1].label for pair in pairs],
            [_both(*pair) for pair in pairs],
        )
    )
    interaction = found.share(both - one - other)
    helps = [np.maximum(found.share(each).estimate, 0) for each in (one, other)]
    excess = found.share(both).estimate - helps[0] - helps[1]
    for pair, is_either in zip(pairs, (excess >= least) & (interaction.low > 0), strict=True):
        if not is_either:
            continue
        for head, backup in (pair, pair[::-1]):
            if head in backups:
                backups[head].append(backup)
    return backups


def _conditional(
    model: Model,
    folds: Sequence[Fold],
    backups: Backups,
    alone: Removal,
    scope: AnyScope,
    metric: Metric,
) -> pd.DataFrame:
    asked = [head for head in backups if backups[head]]
    table = pd.DataFrame(
        {
            "layer": [head.layer for head in backups],
            "head": [head.head for head in backups],
            "backups": [",".join(each.label for each in backups[head]) for head in backups],
            "alone": alone.share(
                alone.effects[[head.label for head in backups]].to_numpy(float)
            ).estimate,
        }
    )
    columns = ["conditional", "low", "high", "p"]
    table[columns] = np.nan
    if not asked:
        return table
    sets: dict[str, Sequence[Head]] = {f"without {head.label}": backups[head] for head in asked}
    sets |= {f"with {head.label}": [*backups[head], head] for head in asked}
    effects = removal(model, folds, sets, scope=scope, metric=metric).effects
    added: Float[np.ndarray, "item head"] = effects[
        [f"with {head.label}" for head in asked]
    ].to_numpy(float) - effects[[f"without {head.label}" for head in asked]].to_numpy(float)
    share = alone.share(added)
    has_backup = table["backups"] != ""
    p_values = np.ones(len(table))
    p_values[has_backup] = mean_interval(added, alone.clusters).p_value
    found = [share.estimate, share.low, share.high, adjusted_p(p_values)[has_backup]]
    table.loc[has_backup, columns] = np.column_stack(found)
    return table


def _said_intact(model: Model, folds: Sequence[Fold]) -> Float[np.ndarray, " head"]:
    """Each head's mean direct effect at the query."""
    table = pd.concat(
        [
            direct_effects(model, fold.batches, scope=Scope.QUERY, baseline=fold.baseline)
            for fold in folds
        ]
    )
    means: Float[np.ndarray, " head"] = (
        table.groupby(["layer", "head"])["direct"].mean().to_numpy(float)
    )
    return means


def _both(one: Head, other: Head) -> str:
    return f"{one.label}+{other.label}"
