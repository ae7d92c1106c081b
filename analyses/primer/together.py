"""Sets of heads exchanged together, beside random heads of the same layers."""

from collections.abc import Mapping, Sequence
from random import Random

import pandas as pd

from analyses.primer.rule import Estimate
from interp.contrast import cluster_labels
from interp.effects.joint import joint
from interp.effects.scopes import Scope
from interp.evidence.removal import clusters_of
from interp.heads import Head
from interp.items import Item
from interp.models import Model
from interp.stats import ratio_interval

RANDOM = "random, like the "


def with_random(
    sets: Mapping[str, Sequence[Head]], model: Model, *, n_random: int, seed: int
) -> dict[str, list[Head]]:
    """The sets, and for each a number of random ones with as many heads in each layer."""
    all_sets = {name: list(heads) for name, heads in sets.items()}
    for name, heads in sets.items():
        for number in range(n_random):
            rng = Random(f"{seed}.{name}.{number}")
            all_sets[f"{RANDOM}{name} {number}"] = _matched(heads, model, rng)
    return all_sets


def removal_table(
    model: Model, items: Sequence[Item], sets: Mapping[str, Sequence[Head]], *, scope: Scope
) -> pd.DataFrame:
    """What a task loses with each set: `set, item, effect, gap` in logits, and the clusters.

    The output is exchanged for that in the counterfactual.
    """
    found = joint(model, model.encode(items), sets, scope=scope)
    ways = clusters_of(items)
    clusters = pd.DataFrame(
        {
            "item": [item.item_id for item in items],
            "cluster": ways[0],
            "other_cluster": ways[-1],
        }
    )
    table = pd.DataFrame(
        {
            "set": found["set"],
            "item": found["item_id"],
            "effect": found["intact"] - found["edited"],
            "gap": found["intact"] - found["corrupt"],
        }
    )
    return table.merge(clusters, on="item", validate="many_to_one")


def share(removed: pd.DataFrame, name: str) -> Estimate:
    """The share of the gap that goes with a set; of the random ones like it, their mean."""
    return _ratio(_items(removed).assign(effect=_effects(removed, name)))


def over_random(removed: pd.DataFrame, name: str) -> Estimate:
    """The share of the gap that goes with a set, less that with the random ones like it."""
    difference = _effects(removed, name) - _effects(removed, f"{RANDOM}{name}")
    return _ratio(_items(removed).assign(effect=difference))


def _effects(removed: pd.DataFrame, name: str) -> "pd.Series[float]":
    """The effect on each item, the mean over sets of the name but for a number."""
    is_of = removed["set"].str.replace(r" \d+$", "", regex=True) == name
    effects: pd.Series[float] = removed[is_of].groupby("item")["effect"].mean()
    return effects


def _items(removed: pd.DataFrame) -> pd.DataFrame:
    return removed.drop_duplicates("item").set_index("item").sort_index()


def _ratio(rows: pd.DataFrame) -> Estimate:
    found = ratio_interval(
        rows["effect"].to_numpy()[:, None], rows["gap"].to_numpy(), cluster_labels(rows)
    )
    return Estimate(float(found.estimate[0]), float(found.low[0]), float(found.high[0]))


def _matched(heads: Sequence[Head], model: Model, rng: Random) -> list[Head]:
    """As many other heads of the same layers, or of any where a layer has no more."""
    chosen: list[Head] = []
    for head in heads:
        free = [other for other in model.heads if other not in heads and other not in chosen]
        of_layer = [other for other in free if other.layer == head.layer]
        chosen.append(rng.choice(of_layer or free))
    return chosen
