"""Scores and effects on the same items, as arrays: items in one order, heads in another."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Shaped

from interp.heads import Head
from interp.stats import Clusters, n_clusters

TIERS = ("everywhere", "query", "edge")
HALVES = ("discovery", "confirmation")
SELECTIVITY = ("cas", "margin", "raw")


@dataclass(frozen=True, kw_only=True)
class Observations:
    """The tables of a run as arrays, items in one order and heads in another.

    Attributes:
        heads: the columns of the arrays.
        scores: by measure; NaN where undefined.
        effects: by tier, intact − edited in units of the metric.
        gap: intact − corrupt, in the same unit.
        clusters: one or two ways.
        cells: the cell of the design that each item lies in.
        splits: the half that each item is for, empty where there are none.
        direct: what each head says to the logits itself, less what it would say in its pair; None
            where that is not known.
    """

    heads: list[Head]
    item_ids: list[str]
    scores: dict[str, Float[np.ndarray, "item head"]]
    effects: dict[str, Float[np.ndarray, "item head"]]
    gap: Float[np.ndarray, " item"]
    clusters: Clusters
    cells: Shaped[np.ndarray, " item"]
    splits: Shaped[np.ndarray, " item"]
    direct: Float[np.ndarray, "item head"] | None = None

    @property
    def n_clusters(self) -> int:
        """On the side that has fewer."""
        return n_clusters(self.clusters)

    @property
    def has_clusters_in_every_cell(self) -> bool:
        """Whether each cell holds two clusters or more on each side, so that it has a spread."""
        return all(
            len(np.unique(way[self.cells == cell])) > 1
            for cell in np.unique(self.cells)
            for way in self.clusters
        )

    @property
    def is_in_halves(self) -> bool:
        """Whether each half holds two clusters or more on each side."""
        return all(
            len(np.unique(way[self.splits == half])) > 1 for half in HALVES for way in self.clusters
        )

    def of_items(self, chosen: Bool[np.ndarray, " item"]) -> "Observations":
        """Some of the items."""
        return Observations(
            heads=self.heads,
            item_ids=[each for each, is_in in zip(self.item_ids, chosen, strict=True) if is_in],
            scores={name: values[chosen] for name, values in self.scores.items()},
            effects={tier: values[chosen] for tier, values in self.effects.items()},
            gap=self.gap[chosen],
            clusters=[way[chosen] for way in self.clusters],
            cells=self.cells[chosen],
            splits=self.splits[chosen],
            direct=None if self.direct is None else self.direct[chosen],
        )


def observations(
    scores: pd.DataFrame,
    effects: pd.DataFrame,
    items: pd.DataFrame,
    direct: pd.DataFrame | None = None,
) -> Observations:
    """Arrays from the tables of scores, effects and items, for the heads that have effects.

    Args:
        direct: from `direct_effects`.
    """
    item_ids = list(items["item_id"])
    effects = effects.assign(effect=effects["intact"] - effects["edited"])
    by_tier = {
        str(tier): _grid(table, "effect", item_ids) for tier, table in effects.groupby("scope")
    }
    by_measure = {
        str(name): _grid(table, "value", item_ids) for name, table in scores.groupby("measure")
    }
    columns = next(iter(by_tier.values())).columns
    by_measure = {name: grid[columns] for name, grid in by_measure.items()}
    heads = [Head(*pair) for pair in columns]
    return Observations(
        heads=heads,
        item_ids=item_ids,
        scores={name: grid.to_numpy(float) for name, grid in by_measure.items()},
        effects={tier: grid.to_numpy(float) for tier, grid in by_tier.items()},
        gap=(items["clean"] - items["corrupt"]).to_numpy(float),
        clusters=cluster_labels(items),
        cells=items["cell"].to_numpy(str),
        splits=items["split"].to_numpy(str),
        direct=(
            None if direct is None else _grid(direct, "direct", item_ids)[columns].to_numpy(float)
        ),
    )


def cluster_labels(items: pd.DataFrame) -> Clusters:
    """One array of labels, or two where the design is crossed."""
    ways = [items["cluster"].to_numpy(str), items["other_cluster"].to_numpy(str)]
    return ways[:1] if (ways[0] == ways[1]).all() else ways


def head_effects(effects: pd.DataFrame) -> pd.DataFrame:
    """Each head's mean effect at each tier, largest first: `intact − edited`, and as a share.

    The share is of the gap between the intact and the counterfactual run (ratio of means).
    """
    columns = ["intact", "edited", "corrupt"]
    means = effects.groupby(["scope", "layer", "head"], as_index=False)[columns].mean()
    effect = means["intact"] - means["edited"]
    labels = [
        Head(layer, head).label for layer, head in zip(means["layer"], means["head"], strict=True)
    ]
    return (
        means.assign(
            label=labels, effect=effect, share=effect / (means["intact"] - means["corrupt"])
        )
        .sort_values("effect", key=abs, ascending=False, ignore_index=True)
        .drop(columns=columns)
    )


def by_template(data: Observations, items: pd.DataFrame) -> pd.DataFrame:
    """Each head's attention and effects in each template by itself, without intervals."""
    frames = []
    for template, places in items.groupby("template_id", sort=True).indices.items():
        table = pd.DataFrame(data.heads, columns=["layer", "head"])
        table.insert(0, "template_id", str(template))
        table["label"] = [head.label for head in data.heads]
        for name in SELECTIVITY:
            table[name] = mean_of_defined(data.scores[name][places])
        for tier, values in data.effects.items():
            table[f"effect_{tier}"] = values[places].mean(axis=0) / data.gap[places].mean()
        frames.append(table)
    return pd.concat(frames, ignore_index=True)


def mean_of_defined(values: Float[np.ndarray, "item head"]) -> Float[np.ndarray, " head"]:
    """Means over items without those on which a head's score is undefined; NaN if that is all."""
    count = (~np.isnan(values)).sum(axis=0)
    means = np.full(values.shape[1], np.nan)
    np.divide(np.nansum(values, axis=0), count, out=means, where=count > 0)
    return means


def _grid(table: pd.DataFrame, value: str, item_ids: list[str]) -> pd.DataFrame:
    grid = table.pivot(index="item_id", columns=["layer", "head"], values=value)
    return grid.loc[item_ids].sort_index(axis=1)
