"""The retrieval heads of a model, and what they carry at each distance."""

import pandas as pd

from analyses.primer.together import RANDOM, share
from interp.heads import Head
from interp.measures.retrieval import needles, retrieval
from interp.models import Model

RETRIEVAL = "retrieval heads"
N_RETRIEVAL = 8


def retrieval_heads(model: Model) -> list[Head]:
    """The heads that look most often at the very word that is copied, on random words."""
    scores = retrieval(model, needles(model), keep_failed=True).scores.nanmean(0)
    best = scores.flatten().topk(N_RETRIEVAL).indices.tolist()
    return [model.heads[place] for place in best]


def shares_by_distance(removed: pd.DataFrame) -> pd.DataFrame:
    """The share of the gap that goes with each set at each distance: `series, distance, share`."""
    rows = []
    for name, said in ((RETRIEVAL, RETRIEVAL), (f"{RANDOM}{RETRIEVAL}", "random heads")):
        for distance, of_distance in removed.groupby("distance"):
            found = share(of_distance, name)
            rows.append(
                {"series": said, "distance": distance, "share": found.value}
                | {"share_low": found.low, "share_high": found.high}
            )
    return pd.DataFrame(rows)
