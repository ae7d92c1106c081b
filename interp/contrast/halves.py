"""What was found on one half of the items, and whether it held on the other."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from interp.contrast.observations import Observations
from interp.contrast.thresholds import Thresholds
from interp.contrast.verdicts import verdicts

HALVES = ("discovery", "confirmation")


def on_halves(
    data: Observations,
    splits: Sequence[str],
    thresholds: Thresholds,
    *,
    seed: int,
    chance: float,
    evidence: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """One row a head: its verdict and effect on either half, from the items of that half alone.

    `layer`, `head`, and for `discovery` and `confirmation` the `verdict_` and the
    `effect_query_`; `held`: both halves give one verdict. The halves share no wording and no
    lexeme, so what holds is not of a wording. Evidence is that of all items.

    Args:
        splits: the half of each item, as items name it.

    Raises:
        ValueError: a half has no items.
    """
    table = pd.DataFrame(data.heads, columns=["layer", "head"])
    for half in HALVES:
        chosen = np.array([each == half for each in splits])
        if not chosen.any():
            raise ValueError(f"no item is for {half}; expected items in two halves.")
        found = verdicts(
            data.of_items(chosen), thresholds, seed=seed, chance=chance, evidence=evidence
        )
        table[f"verdict_{half}"] = found["verdict"].astype(str)
        table[f"effect_query_{half}"] = found["effect_query"]
    table["held"] = table["verdict_discovery"] == table["verdict_confirmation"]
    return table
