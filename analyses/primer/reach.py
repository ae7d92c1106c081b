"""What a model prefers at growing distances: its own answer against its counterfactual's."""

import numpy as np
import pandas as pd

from analyses.primer.rule import Estimate
from interp.behaviour import answer_table
from interp.items import Item
from interp.models import Model
from interp.stats import ratio_interval

SPOKEN = {"recall": "recall from a list", "it": '"it" and its noun'}


def contrast_table(model: Model, kinds: dict[str, dict[int, list[Item]]]) -> pd.DataFrame:
    """How much an item's own answer is preferred to what its counterfactual prefers, in logits.

    One row a kind, distance and item: `pair`, `contrast` = m(item) − m(counterfactual), halved, and
    `right`, whether its own answer is preferred. The same pairs at every distance.
    """
    parts = []
    for kind, by_distance in kinds.items():
        items = [item for of_distance in by_distance.values() for item in of_distance]
        answers = answer_table(model, items)
        counts = [len(of_distance) for of_distance in by_distance.values()]
        parts.append(
            pd.DataFrame(
                {
                    "kind": kind,
                    "distance": np.repeat(list(by_distance), counts),
                    "pair": [item.pair_id for item in items],
                    "contrast": ((answers["clean"] - answers["corrupt"]) / 2).to_numpy(),
                    "right": (answers["clean"] > 0).to_numpy(float),
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def kept(contrasts: pd.DataFrame) -> Estimate:
    """The contrast at the longest distance over that at the nearest, pairs as clusters."""
    means = contrasts.pivot_table(index="pair", columns="distance", values="contrast")
    near, far = (means[distance].to_numpy() for distance in (means.columns[0], means.columns[-1]))
    try:
        found = ratio_interval(far[:, None], near, [np.arange(len(means))])
    except ValueError:  # no contrast at the nearest distance of which there could be a share
        return Estimate(np.nan, np.nan, np.nan)
    return Estimate(float(found.estimate[0]), float(found.low[0]), float(found.high[0]))


def contrasts_by_distance(contrasts: pd.DataFrame) -> pd.DataFrame:
    """Mean contrast and share of right answers: `series, distance, contrast, …, right`."""
    rows = []
    for (kind, distance), found in contrasts.groupby(["kind", "distance"], sort=False):
        mean = Estimate.mean(found["contrast"].to_numpy(), [found["pair"].to_numpy(str)])
        rows.append(
            {
                "series": SPOKEN[str(kind)],
                "distance": distance,
                "contrast": mean.value,
                "contrast_low": mean.low,
                "contrast_high": mean.high,
                "right": found["right"].mean(),
            }
        )
    return pd.DataFrame(rows)
