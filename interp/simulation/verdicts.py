"""How often does the whole of the rules give a head a verdict that is false?"""

from enum import IntEnum

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from interp.contrast import Observations, Thresholds, Verdict, verdicts
from interp.contrast.observations import TIERS
from interp.heads import Head
from interp.progress import Advance
from interp.simulation.nulls import FEW_DRAWS
from interp.simulation.populations import Design, Population, Sweep

EFFECT = 0.2
"""Of the gap: what a head does that does something."""

ANY_CLAIM = "any claim of a head that does nothing"
_RAW, _CHANCE = 0.3, 0.05
_THRESHOLDS = Thresholds()


class Truth(IntEnum):
    """What a head really does.

    NOTHING: no effect at any tier. ELSEWHERE: an effect at the query, none of it over the edge.
    EDGE_AT_BOUND: the same, and over the edge as much as just counts. AT_BOUND: as much as just
    counts, at every tier. UNSELECTIVE: no effect, and attention that does not go with the source.
    All attend, but for half of those that do nothing, and the last.
    """

    NOTHING = 0
    ELSEWHERE = 1
    EDGE_AT_BOUND = 2
    AT_BOUND = 3
    UNSELECTIVE = 4


_SIZES = {
    Truth.NOTHING: (0, 0, 0),
    Truth.ELSEWHERE: (EFFECT, EFFECT, 0),
    Truth.EDGE_AT_BOUND: (EFFECT, EFFECT, _THRESHOLDS.nothing),
    Truth.AT_BOUND: (_THRESHOLDS.nothing,) * 3,
    Truth.UNSELECTIVE: (0, 0, 0),
}
"""True effects everywhere, at the query and over the edge, as shares of the gap."""

_CYCLE = np.array([0, 1, 0, 2, 0, 3, 0, 4])
_CLAIMS_NOTHING = (Verdict.IDLE, Verdict.INCONCLUSIVE, Verdict.NEITHER)


def false_verdicts(
    population: Population,
    design: Design,
    *,
    n_sweeps: int,
    seed: int,
    advance: Advance = lambda cost: None,
) -> dict[str, Float[np.ndarray, " sweep"]]:
    """By kind of error, in each sweep: whether any head, or which share of heads, was misjudged.

    Half of the heads do nothing, and a claim about any of them is one error. The others lie where
    one rule is hardest to keep, an eighth of the heads each; every head takes every part by turns.
    A head at a bound is there in one cell of two, upward or downward by turns. Chance is drawn
    for each tier by itself, so that there are three occasions to err. All that seem idle pass the
    test of joint removal.
    """
    rng = np.random.default_rng(seed)
    found: dict[str, list[float]] = {}
    for index in range(n_sweeps):
        truth = np.roll(np.resize(_CYCLE, len(population.effects)), index)
        data = _observations(population, design, truth, rng)
        evidence = pd.DataFrame(data.heads, columns=["layer", "head"]).assign(idle_together=1.0)
        table = verdicts(
            data, _THRESHOLDS, seed=index, chance=_CHANCE, evidence=evidence, n_draws=FEW_DRAWS
        )
        for kind, rate in _errors(table, truth).items():
            found.setdefault(kind, []).append(rate)
        advance(1)
    return {kind: np.array(rates) for kind, rates in found.items()}


def _errors(table: pd.DataFrame, truth: Int[np.ndarray, " head"]) -> dict[str, float]:
    verdict, nothing = table["verdict"], truth == Truth.NOTHING
    consistent = verdict.isin([Verdict.CONSISTENT, Verdict.PARTLY])
    return {
        ANY_CLAIM: float((~verdict[nothing].isin(_CLAIMS_NOTHING)).any()),
        "(partly) consistent, and all comes from elsewhere": float(
            consistent[truth == Truth.ELSEWHERE].mean()
        ),
        "wrong edge, and the edge is at the bound": float(
            (verdict[truth == Truth.EDGE_AT_BOUND] == Verdict.WRONG_EDGE).mean()
        ),
        "idle, and the head is at the bound": float(
            (verdict[truth == Truth.AT_BOUND] == Verdict.IDLE).mean()
        ),
        "attends, and the attention is not selective": float(
            table["attends"][truth == Truth.UNSELECTIVE].mean()
        ),
    }


def _observations(
    population: Population,
    design: Design,
    truth: Int[np.ndarray, " head"],
    rng: np.random.Generator,
) -> Observations:
    """Two cells of one design, each drawn by itself, with true effects added to the chance."""

    def drawn() -> Sweep:
        one, two = (population.sweep(rng, design) for _ in range(2))
        clusters = [np.concatenate(way) for way in zip(one.clusters, two.clusters, strict=True)]
        return Sweep(
            np.concatenate([one.chance, two.chance]), np.concatenate([one.gap, two.gap]), clusters
        )

    chance = {name: drawn() for name in (*TIERS, "direct", "cas")}
    gap, clusters = chance["query"].gap, chance["query"].clusters
    n_items, n_heads = len(gap), len(truth)
    cells = np.repeat([0, 1], n_items // 2)
    upward = np.where(np.arange(n_heads) // len(_CYCLE) % 2 == 0, 1, -1)
    in_one_cell = np.outer(cells == 0, upward)

    def effects(tier: str) -> Float[np.ndarray, "item head"]:
        sizes = np.array([_SIZES[Truth(kind)][TIERS.index(tier)] for kind in truth])
        true = sizes * np.where(sizes == _THRESHOLDS.nothing, in_one_cell, 1)
        return chance[tier].chance + true * population.gap

    attends = (truth != Truth.NOTHING) | (np.arange(n_heads) % 4 == 0)
    raw = np.tile(np.where(attends, _RAW, 0.0), (n_items, 1))
    noise = chance["cas"].chance
    cas = np.where(truth == Truth.UNSELECTIVE, 0, raw) + 0.1 * noise / (noise.std(axis=0) + 1e-9)
    direct = np.where(truth == Truth.AT_BOUND, _THRESHOLDS.nothing, 0) * in_one_cell
    return Observations(
        heads=[Head(0, number) for number in range(n_heads)],
        item_ids=[str(number) for number in range(n_items)],
        scores={"cas": cas} | dict.fromkeys(("raw", "margin", "sink_mass", "sink_corrected"), raw),
        effects={tier: effects(tier) for tier in TIERS},
        gap=gap,
        clusters=clusters,
        cells=cells,
        splits=np.full(n_items, ""),
        direct=chance["direct"].chance + direct * population.gap,
    )
