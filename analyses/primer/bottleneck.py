"""Claim 6: a recurrent state is a bottleneck; attention reaches any distance.

A recurrent network carries all that it has read in one vector, which must hold every pair that may
be asked for, and which every step rewrites. Attention keeps each position and goes back to it: the
path from a source to its answer is one step long, whatever stands between.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pandas as pd

from analyses.primer.claim import Claim, Finding, Setting, Tables, smollm2
from analyses.primer.pronouns import it_items
from analyses.primer.reach import SPOKEN, contrast_table, contrasts_by_distance, kept
from analyses.primer.recurrence import NO_GRADIENT, SERIES, gradient_gap, recall_table
from analyses.primer.retrievers import (
    N_RETRIEVAL,
    RETRIEVAL,
    retrieval_heads,
    shares_by_distance,
)
from analyses.primer.rule import Ask, Estimate, Rule
from analyses.primer.together import over_random, removal_table, with_random
from interp.effects.scopes import Scope
from interp.heads import Head
from interp.report import plots
from interp.report.page import Plate
from interp.report.spelling import listed, number, scientific, whole_percent
from interp.tasks import build
from interp.tasks.distance import Mode

RULE = Rule(
    (
        Ask(
            name="far_gap",
            what="accuracy of attention less that of a GRU of equal size, 2 pairs, the longest "
            "distance",
            at_least=0.05,
        ),
        Ask(
            name="attention_far",
            what="accuracy of attention there",
            at_least=0.9,
        ),
        Ask(
            name="full_state",
            what="accuracy of the GRU at the nearest distance with 8 pairs less that with 2",
            at_most=-0.05,
        ),
        Ask(
            name="first_gradient_gap",
            what="how many times weaker the gradient from source to answer is at the longest "
            "distance than at the nearest, before training: GRU over attention (log 10)",
            at_least=0.0,
        ),
        Ask(
            name="gradient_gap",
            what="the same after training",
            at_least=0.0,
        ),
        Ask(
            name="recall_far",
            what="SmolLM2's recall contrast at the longest distance, as a share of the nearest",
            at_least=0.5,
            is_core=False,
        ),
        Ask(
            name="it_far",
            what='the same for "it" and the noun it refers to',
            at_least=0.5,
            is_core=False,
        ),
        Ask(
            name="retrieval_far",
            what="share of the recall gap that goes with the retrieval heads at the longest "
            "distance, less that with random heads of the same layers",
            at_least=0.0,
            is_core=False,
        ),
    )
)
N_RANDOM = 3


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    n_seeds: int
    n_steps: int
    distances: tuple[int, ...]  # of the small models
    trained_to: int
    real: tuple[int, ...]  # of SmolLM2, in tokens
    n_pairs: int


SIZES = {
    "quick": Size(3, 2000, (2, 8, 32, 128), 32, (16, 64, 256), 12),
    "standard": Size(3, 6000, (2, 8, 32, 128, 512), 32, (16, 64, 256, 1024), 16),
}
PAIRS = (2, 4, 8)


def measure(setting: Setting) -> Finding:
    """Two small models at growing distances and numbers of pairs; then SmolLM2."""
    size = SIZES[setting.preset]
    with setting.progress("claim 6: bottleneck", 2 * size.n_seeds + 4) as advance:
        small = recall_table(
            n_seeds=size.n_seeds,
            n_steps=size.n_steps,
            distances=size.distances,
            trained_to=size.trained_to,
            pairs=PAIRS,
            seed=setting.seed,
            advance=advance,
        )
        model = smollm2()
        recall = {
            distance: build(
                f"long_range/recall/{distance}/{Mode.FIXED_SOURCE}",
                model.tokenizer,
                n_pairs=size.n_pairs,
                seed=setting.seed,
            )
            for distance in size.real
        }
        contrasts = contrast_table(model, {"recall": recall})
        advance(1)
        its = {
            distance: it_items(model, distance, n_pairs=size.n_pairs, seed=setting.seed)
            for distance in size.real
        }
        contrasts = pd.concat([contrasts, contrast_table(model, {"it": its})])
        advance(1)
        heads = retrieval_heads(model)
        sets = with_random({RETRIEVAL: heads}, model, n_random=N_RANDOM, seed=setting.seed)
        removed = pd.concat(
            [
                removal_table(model, items, sets, scope=Scope.QUERY).assign(distance=distance)
                for distance, items in recall.items()
            ],
            ignore_index=True,
        )
        advance(2)
    evidence = evidence_of(small, contrasts, removed, size)
    return Finding(
        evidence=evidence,
        sentences=_sentences(small, contrasts, removed, heads, size),
        tables={
            "small_models": small,
            "contrasts": contrasts_by_distance(contrasts),
            "retrieval_heads": shares_by_distance(removed),
        },
    )


def evidence_of(
    small: pd.DataFrame, contrasts: pd.DataFrame, removed: pd.DataFrame, size: Size
) -> dict[str, Estimate]:
    """The figures that the rule asks for."""
    near, far = min(size.distances), max(size.distances)
    accuracy = small.pivot(index="seed", columns=["series", "pairs", "distance"], values="accuracy")
    attention, gru = SERIES
    return {
        "far_gap": Estimate.mean((accuracy[attention, 2, far] - accuracy[gru, 2, far]).to_numpy()),
        "attention_far": Estimate.mean(accuracy[attention, 2, far].to_numpy()),
        "full_state": Estimate.mean((accuracy[gru, 8, near] - accuracy[gru, 2, near]).to_numpy()),
        "first_gradient_gap": gradient_gap(small, "first_gradient", near, far),
        "gradient_gap": gradient_gap(small, "gradient", near, far),
        "recall_far": kept(contrasts[contrasts["kind"] == "recall"]),
        "it_far": kept(contrasts[contrasts["kind"] == "it"]),
        "retrieval_far": over_random(removed[removed["distance"] == max(size.real)], RETRIEVAL),
    }


def _sentences(
    small: pd.DataFrame,
    contrasts: pd.DataFrame,
    removed: pd.DataFrame,
    heads: Sequence[Head],
    size: Size,
) -> list[str]:
    means = small.groupby(["series", "pairs", "distance"])[
        ["accuracy", "gradient", "first_gradient"]
    ].mean()
    attention, gru = SERIES
    near, far = min(size.distances), max(size.distances)
    parameters = small.groupby("series", sort=False)["n_parameters"].first()
    shares = shares_by_distance(removed).set_index(["series", "distance"])["share"]
    table = contrasts_by_distance(contrasts).set_index(["series", "distance"])

    def right(series: str, n_pairs: int, distance: int) -> str:
        return whole_percent(means.loc[(series, n_pairs, distance), "accuracy"])

    def points(one: tuple[str, int, int], other: tuple[str, int, int]) -> str:
        return number(100 * (means.loc[one, "accuracy"] - means.loc[other, "accuracy"]), 0)

    def weaker(series: str, column: str) -> str:
        lengths = [means.loc[(series, 2, distance), column] for distance in (near, far)]
        times = lengths[0] / max(lengths[1], NO_GRADIENT)
        return number(times, 1) if times < 1e6 else "more than a million"

    spoken = {
        name: listed([f"{number(table.loc[(name, d), 'contrast'])} at {d}" for d in size.real])
        for name in SPOKEN.values()
    }
    carried = listed([f"{whole_percent(shares[RETRIEVAL, d])} at {d}" for d in size.real])
    return [
        f"With 2 pairs to remember the GRU answers {right(gru, 2, near)} right at a distance of "
        f"{near} and {right(gru, 2, far)} at {far}; attention {right(attention, 2, near)} and "
        f"{right(attention, 2, far)} ({parameters[gru]:,} and {parameters[attention]:,} "
        f"parameters; trained up to a distance of {size.trained_to}). With 8 pairs the GRU answers "
        f"{right(gru, 8, near)} at the nearest (a guess: {whole_percent(1 / 8)}), attention "
        f"{right(attention, 8, near)}. From the nearest to the longest distance the GRU loses "
        f"{points((gru, 2, near), (gru, 2, far))} points, from 2 to 8 pairs "
        f"{points((gru, 2, near), (gru, 8, near))}.",
        "Before training, the gradient from source to answer is "
        f"{weaker(gru, 'first_gradient')} times weaker at the longest distance than at the nearest "
        f"in the GRU, {weaker(attention, 'first_gradient')} times in attention, whose softmax "
        "shares it out among more keys; after training on mixed distances "
        f"{weaker(gru, 'gradient')} and {weaker(attention, 'gradient')} times.",
        f"SmolLM2's own preference for the right answer, in logits: in recall from a list "
        f'{spoken[SPOKEN["recall"]]} tokens; for "it" and its noun {spoken[SPOKEN["it"]]}. Any '
        "distance is within reach of one step of attention, and still it has to be found among "
        "more and more keys.",
        f"Of the recall gap its {len(heads)} retrieval heads "
        f"({', '.join(head.label for head in sorted(heads))}) carry {carried} tokens; as many "
        "random heads of the same layers "
        + listed([whole_percent(shares["random heads", d]) for d in size.real])
        + ".",
    ]


def plates(tables: Tables) -> Iterator[Plate]:
    """Small models by distance; SmolLM2 by distance."""
    small = tables["small_models"]
    rows = []
    for (series, pairs, distance), seeds in small.groupby(
        ["series", "pairs", "distance"], sort=False
    ):
        if pairs == 4:
            continue
        row: dict[str, object] = {"series": f"{series}, {pairs} pairs", "distance": distance}
        for name in ("accuracy", "first_gradient"):
            found = Estimate.mean(seeds[name].to_numpy())
            if name == "accuracy":
                low, high = max(found.low, 0.0), min(found.high, 1.0)
                row |= {name: found.value, f"{name}_low": low, f"{name}_high": high}
            else:  # what vanishes has no place on a logarithmic axis
                value = max(found.value, NO_GRADIENT)
                low, high = max(found.low, value / 3), max(found.high, value)
                row |= {name: value, f"{name}_low": low, f"{name}_high": high}
        rows.append(row)
    yield Plate(
        "small_models",
        "Recall of small models against distance",
        plots.curves(
            pd.DataFrame(rows),
            x="distance",
            ys={"accuracy": "accuracy", "gradient at the source, untrained": "first_gradient"},
            x_label="noise between the pairs and the question",
            y_scale=("linear", "log"),
        ),
        "One layer of attention and a GRU of equal size, trained alike. Right: the length of the "
        "gradient of the right logit at the pair that is asked for, before training. Bands: 95 % "
        f"intervals over seeds; on the right they are cut off at a third of the mean, and what is "
        f"less than {scientific(NO_GRADIENT)} is drawn there.",
    )
    contrasts = tables["contrasts"]
    yield Plate(
        "smollm2_by_distance",
        "SmolLM2 against distance",
        plots.curves(
            contrasts,
            x="distance",
            ys={"preference for the right answer (logits)": "contrast"},
            x_label="tokens between source and question",
        ),
        "Half the difference between an item and its counterfactual, the same pairs at every "
        "distance. Bands: 95 % intervals over pairs.",
    )
    shares = tables["retrieval_heads"]
    yield Plate(
        "retrieval_heads",
        "Effect of the retrieval heads against distance",
        plots.curves(
            shares,
            x="distance",
            ys={"share of the recall gap": "share"},
            x_label="tokens between source and question",
        ),
        f"The {N_RETRIEVAL} heads that most often look at the very word to be copied, on random "
        "words; their output at the question exchanged for that in the counterfactual. Random: as "
        f"many heads of the same layers, mean of {N_RANDOM} draws.",
    )


CLAIM = Claim(
    number=6,
    name="bottleneck",
    says="A recurrent state is a bottleneck; attention reaches any distance.",
    how="A GRU and one layer of attention of equal size, trained to recall one of 2, 4 or 8 pairs "
    'across noise; and SmolLM2\'s own recall, its retrieval heads, and "it" and its noun, across '
    "growing distance.",
    rule=RULE,
    measure=measure,
    plates=plates,
)
