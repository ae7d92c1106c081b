"""What was found on one half of the items, and whether it held on the other."""

import pandas as pd

from interp.contrast.observations import HALVES, Observations
from interp.contrast.thresholds import Thresholds
from interp.contrast.verdicts import verdicts


def on_halves(
    data: Observations,
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

    Raises:
        ValueError: a half has fewer than two clusters on a side.
    """
    if not data.is_in_halves:
        raise ValueError(
            "expected items in two halves, discovery and confirmation, each with two clusters or "
            "more on a side; name the half of each item as its split."
        )
    table = pd.DataFrame(data.heads, columns=["layer", "head"])
    for half in HALVES:
        of_half = data.of_items(data.splits == half)
        found = verdicts(of_half, thresholds, seed=seed, chance=chance, evidence=evidence)
        table[f"verdict_{half}"] = found["verdict"].astype(str)
        table[f"effect_query_{half}"] = found["effect_query"]
    table["held"] = table["verdict_discovery"] == table["verdict_confirmation"]
    return table
