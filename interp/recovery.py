"""Are the roles of planted heads found again, whatever the words, their order, and noise?"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from interp.behaviour import item_table
from interp.contrast import (
    MATTERS,
    Observations,
    Thresholds,
    observations,
    verdicts,
)
from interp.effects.engine import sweep
from interp.effects.metrics import LOGIT_DIFFERENCE
from interp.measures.relations import chance, relation_scores
from interp.models import load
from interp.models.record import record
from interp.planted import NAMES, Planted, build
from interp.planted.redrawn import redrawn

NOISE = 0.1
N_PAIRS, N_DRAWINGS = 128, 10
ATTENDS = "attends"


def recovery(names: Sequence[str] = NAMES, *, n_seeds: int = 100) -> pd.DataFrame:
    """Whether each planted head is given its role, and no other head one, in every seed.

    One row a model, seed and head: `role` as planted, whether it should and does attend
    (`attends`, `found_attending`; undefined where nothing is claimed) and matter (`matters`,
    `found_mattering`), and whether all `agrees`. A role is read off the contrast. Each seed draws
    128 of 160 pairs whose words and order were drawn anew (see `redrawn`), and each logit of each
    run has normal noise of standard deviation .1.
    """
    return pd.concat([_of_model(name, n_seeds) for name in names], ignore_index=True)


def _of_model(name: str, n_seeds: int) -> pd.DataFrame:
    planted, model = build(name), load(f"planted/{name}")
    sets = [redrawn(planted.items, seed=drawing) for drawing in range(N_DRAWINGS)]
    batches = model.encode([item for items in sets for item in items])
    scores = pd.concat([relation_scores(record(model.plain, batch)) for batch in batches])
    data = observations(scores, sweep(model, batches), item_table(model, batches, LOGIT_DIFFERENCE))
    uniform = chance(batches)
    frames = []
    for seed in range(n_seeds):
        drawn = _drawn(data, np.random.default_rng(seed))
        table = verdicts(drawn, Thresholds(), seed=seed, chance=uniform)
        frames.append(_compared(planted, drawn, table).assign(model=name, seed=seed))
    return pd.concat(frames, ignore_index=True)


def _compared(planted: Planted, data: Observations, table: pd.DataFrame) -> pd.DataFrame:
    rows = []
    for head, reading in zip(data.heads, table["reading"], strict=True):
        known = planted.known.get(head, planted.rests)
        should_attend = None if known.reading is None else ATTENDS in known.reading
        should_matter = known.reading is not None and MATTERS in known.reading
        attends, matters = ATTENDS in reading, MATTERS in reading
        rows.append(
            {
                "head": head.label,
                "role": known.role,
                "attends": should_attend,
                "found_attending": attends,
                "matters": should_matter,
                "found_mattering": matters,
                "agrees": should_attend in (None, attends) and should_matter == matters,
            }
        )
    return pd.DataFrame(rows)


def _drawn(data: Observations, rng: np.random.Generator) -> Observations:
    """Some pairs, with noise on the two logits of each run: intact, edited, counterfactual."""
    n_pairs = len(data.item_ids) // 2
    pairs = rng.choice(n_pairs, size=N_PAIRS, replace=False)
    rows = np.stack([2 * pairs, 2 * pairs + 1], axis=1).ravel()

    def noise(*shape: int) -> np.ndarray:
        return rng.normal(scale=NOISE * 2**0.5, size=shape)

    intact = noise(len(rows))
    effects = {
        tier: values[rows] + intact[:, None] - noise(len(rows), len(data.heads))
        for tier, values in data.effects.items()
    }
    return Observations(
        heads=data.heads,
        item_ids=[data.item_ids[row] for row in rows],
        scores={name: values[rows] for name, values in data.scores.items()},
        effects=effects,
        gap=data.gap[rows] + intact - noise(len(rows)),
        clusters=[way[rows] for way in data.clusters],
    )
