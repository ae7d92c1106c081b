"""Are the roles of planted heads found again, whatever the words, their order, and noise?"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from interp.behaviour import item_table
from interp.contrast import TIERS, Observations, Thresholds, estimates, observations
from interp.effects.engine import sweep
from interp.effects.metrics import LOGIT_DIFFERENCE
from interp.measures.relations import chance, relation_scores
from interp.models import load
from interp.models.record import record
from interp.planted import NAMES, Planted, build
from interp.planted.redrawn import redrawn

NOISE = 0.1
N_PAIRS, N_DRAWINGS = 128, 10


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
        table = estimates(drawn, Thresholds(), seed=seed, chance=uniform)
        frames.append(_compared(planted, drawn, table).assign(model=name, seed=seed))
    return pd.concat(frames, ignore_index=True)


def _compared(planted: Planted, data: Observations, table: pd.DataFrame) -> pd.DataFrame:
    rows = []
    mattering = table[[f"matters_{tier}" for tier in TIERS]].any(axis=1)
    for head, attends, matters in zip(data.heads, table["attends"], mattering, strict=True):
        known = planted.known.get(head, planted.rests)
        rows.append(
            {
                "head": head.label,
                "role": known.role,
                "attends": known.attends,
                "found_attending": attends,
                "matters": known.matters,
                "found_mattering": matters,
                "agrees": known.attends in (None, attends) and known.matters == matters,
            }
        )
    return pd.DataFrame(rows)


def _drawn(data: Observations, rng: np.random.Generator) -> Observations:
    """Some pairs, with noise on the two logits of each run: intact, edited, counterfactual."""
    n_pairs = len(data.item_ids) // 2
    pairs = np.sort(rng.choice(n_pairs, size=N_PAIRS, replace=False))
    rows = np.stack([2 * pairs, 2 * pairs + 1], axis=1).ravel()

    def noise(*shape: int) -> np.ndarray:
        return rng.normal(scale=NOISE * 2**0.5, size=shape)

    intact = noise(len(rows))
    chosen = data.of_items(np.isin(np.arange(len(data.item_ids)), rows))
    effects = {
        tier: values + intact[:, None] - noise(len(rows), len(data.heads))
        for tier, values in chosen.effects.items()
    }
    return replace(chosen, effects=effects, gap=chosen.gap + intact - noise(len(rows)))
