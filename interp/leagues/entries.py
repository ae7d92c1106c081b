"""The measures that enter the leagues, each with its values on every item and its floors."""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float

from interp.contrast.contenders import METRIC, Contender
from interp.contrast.observations import mean_of_defined
from interp.effects.metrics import Metric
from interp.effects.scopes import Scope
from interp.encode import Batch
from interp.leagues.values import (
    ATTRIBUTION,
    DIRECT_EFFECT,
    OF_HEADS,
    OF_LAYERS,
    Values,
    catalogue_values,
    exchanged,
    intervention_values,
    kept,
    reordered,
)
from interp.models.model import Model
from interp.models.random_init import random_init
from interp.shards import Shards

N_SEEDS = 3
_LEAGUE_OF = {measure.name: measure.league for measure in OF_HEADS} | {
    ATTRIBUTION: METRIC,
    DIRECT_EFFECT: METRIC,
}


def entries(
    model: Model,
    batches: Sequence[Batch],
    few: Sequence[Batch],
    tiers: Sequence[Scope],
    metric: Metric,
    item_ids: Sequence[str],
    *,
    shards: Shards,
    advance: Callable[[int], None] = lambda n_items: None,
) -> tuple[list[Contender], pd.DataFrame]:
    """The contenders, and which measures are none: `measure`, `tier` (empty: all), `reason`.

    Args:
        few: items for the floors: models that have learned nothing, and labels exchanged.
        item_ids: the order of the items in `Contender.by_tier`.
    """
    few_ids = [item.item_id for batch in few for item in batch.items]
    found = kept(shards, "measures", model, _all_values, batches, item_ids, tiers, metric)
    advance(len(item_ids))
    intact = reordered(found, few_ids)
    turned = reordered(kept(shards, "exchanged", model, exchanged, few), few_ids)
    advance(len(few_ids))
    untrained = []
    for seed in range(N_SEEDS):
        name = f"untrained {seed}"
        untrained.append(kept(shards, name, model, _untrained, seed, few, few_ids, tiers, metric))
        advance(len(few_ids))
    none = {measure.name: "it is of a layer, not of a head" for measure in OF_LAYERS}
    if _is_cas(found):
        none["margin"] = "on these pairs its mean is the CAS by construction"
    contenders = [
        Contender(
            name=name,
            league=league,
            by_tier={str(tier): _required(found, name, str(tier)) for tier in tiers},
            random_init=_random_means(untrained, name, tiers),
            swapped=_swapped_means(intact, turned, name),
        )
        for name, league in _LEAGUE_OF.items()
        if name not in none | found.reasons
    ]
    reasons = pd.DataFrame(
        [(name, "", reason) for name, reason in (none | found.reasons).items()],
        columns=["measure", "tier", "reason"],
    )
    return contenders, reasons


def _all_values(
    model: Model,
    batches: Sequence[Batch],
    item_ids: Sequence[str],
    tiers: Sequence[Scope],
    metric: Metric,
) -> Values:
    of_pattern = catalogue_values(model, batches)
    return _both(of_pattern, intervention_values(model, batches, tiers, metric), item_ids)


def _untrained(
    model: Model,
    seed: int,
    batches: Sequence[Batch],
    item_ids: Sequence[str],
    tiers: Sequence[Scope],
    metric: Metric,
) -> Values:
    fresh = random_init(model, seed=seed, keep_embeddings=False)
    return _all_values(fresh, batches, item_ids, tiers, metric)


def _both(one: Values, other: Values, item_ids: Sequence[str]) -> Values:
    one, other = reordered(one, item_ids), reordered(other, item_ids)
    return Values(
        item_ids=list(item_ids),
        arrays=one.arrays | other.arrays,
        reasons=one.reasons | other.reasons,
    )


def _is_cas(found: Values) -> bool:
    """Whether the margin is the CAS for every head, as where the source moves between two slots."""
    margin, cas = found.of("margin", ""), found.of("cas", "")
    if margin is None or cas is None or np.isnan(cas).all():
        return False
    return _same(mean_of_defined(margin), mean_of_defined(cas))


def _required(found: Values, name: str, tier: str) -> Float[np.ndarray, "item head"]:
    values = found.of(name, tier)
    assert values is not None, f"{name} has neither values nor a reason"
    return values


def _random_means(
    untrained: Sequence[Values], name: str, tiers: Sequence[Scope]
) -> dict[str, Float[np.ndarray, "seed head"]]:
    means = {}
    for tier in tiers:
        values = [each.of(name, str(tier)) for each in untrained]
        of_seeds = [mean_of_defined(each) for each in values if each is not None]
        if of_seeds:
            means[str(tier)] = np.stack(of_seeds)
    return means


def _swapped_means(intact: Values, turned: Values, name: str) -> Float[np.ndarray, " head"] | None:
    """The means with labels exchanged; None where that changes nothing or only turns the sign."""
    own, other = intact.of(name, ""), turned.of(name, "")
    if own is None or other is None or name == DIRECT_EFFECT:
        return None
    before, after = mean_of_defined(own), mean_of_defined(other)
    if _same(before, after) or _same(before, -after):
        return None
    return after


def _same(one: Float[np.ndarray, " head"], other: Float[np.ndarray, " head"]) -> bool:
    both: Bool[np.ndarray, " head"] = ~(np.isnan(one) | np.isnan(other))
    size = np.abs(one[both]).max(initial=0)
    return bool(np.abs(one[both] - other[both]).max(initial=0) <= 1e-5 * size)
