"""Claim 1: without 1/√d_k the softmax saturates and gradients vanish.

A dot product of two vectors of d_k independent entries of unit variance has variance d_k. A softmax
of scores so far apart gives nearly all to the largest, and where a softmax is nearly 1 or 0 it has
no slope: its Jacobian is diag(p) − p pᵀ. Dividing by √d_k brings the variance back to 1.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from jaxtyping import Float

from analyses.primer.claim import Claim, Finding, Setting, Tables, minilm, smollm2
from analyses.primer.lookup import ARMS, training
from analyses.primer.rule import Ask, Estimate, Rule
from analyses.primer.saturation import (
    LEAST_KEYS,
    WIDTHS,
    random_vectors,
    slopes,
    trained_heads,
    without_factor,
)
from analyses.primer.texts import passages
from interp.report import plots
from interp.report.page import Plate
from interp.report.spelling import number

RULE = Rule(
    (
        Ask(
            name="slope_without",
            what="slope of log variance of the scores in log d_k, random vectors, no factor",
            at_least=0.95,
            at_most=1.05,
            digits=3,
        ),
        Ask(
            name="slope_with",
            what="the same with the factor",
            at_least=-0.05,
            at_most=0.05,
            digits=3,
        ),
        Ask(
            name="largest_without",
            what="mean largest weight among 64 keys at d_k = 1,024, no factor",
            at_least=0.9,
        ),
        Ask(name="largest_with", what="the same with the factor", at_most=0.2),
        Ask(
            name="gradient_ratio",
            what="softmax gradient of the median row at d_k = 1,024, as a share of that with the "
            "factor",
            at_most=0.1,
            digits=4,
        ),
        Ask(
            name="training_gap",
            what="final loss (nats) of a small model trained without the factor less with it, "
            "d_k = 64",
            at_least=0.0,
        ),
        Ask(
            name="trained_heads",
            what="share of the heads of both models whose softmax gradient falls when the factor "
            "is left out",
            at_least=0.9,
            is_core=False,
        ),
        Ask(
            name="like_random",
            what="variance of q·k over d_k in the median trained head: 1 for random vectors",
            at_least=0.5,
            at_most=2.0,
            is_core=False,
        ),
    )
)


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    n_repeats: int  # draws of random vectors
    n_rows: int
    n_texts: int
    n_tokens: int
    widths: tuple[int, ...]  # d_k of the models that are trained
    n_seeds: int
    n_steps: int


SIZES = {
    "quick": Size(5, 400, 6, 64, (64,), 3, 250),
    "standard": Size(10, 1000, 16, 64, (16, 64, 256), 5, 400),
}


def measure(setting: Setting) -> Finding:
    """Random vectors, the heads of two models, and models trained with and without the factor."""
    size = SIZES[setting.preset]
    texts = partial(passages, n_texts=size.n_texts, n_tokens=size.n_tokens)
    with setting.progress("claim 1: scaling", 4) as advance:
        random = random_vectors(n_repeats=size.n_repeats, n_rows=size.n_rows, seed=setting.seed)
        advance(1)
        heads = pd.concat(
            [trained_heads(model, texts(model)) for model in (smollm2(), minilm())],
            ignore_index=True,
        )
        advance(1)
        losses = without_factor(smollm2(), texts(smollm2()))
        trained = training(
            widths=size.widths, n_seeds=size.n_seeds, n_steps=size.n_steps, seed=setting.seed
        )
        advance(2)
    evidence = evidence_of(random, heads, trained)
    return Finding(
        evidence=evidence,
        sentences=_sentences(random, heads, trained, losses),
        tables={"random": _by_width(random), "heads": heads, "training": trained},
    )


def evidence_of(
    random: pd.DataFrame, heads: pd.DataFrame, trained: pd.DataFrame
) -> dict[str, Estimate]:
    """The figures that the rule asks for."""
    widest = random[random["d_k"] == max(WIDTHS)].set_index(["series", "repeat"])
    with_factor, without = widest.loc[ARMS[0]], widest.loc[ARMS[1]]
    falls = heads["gradient_without"] < heads["gradient"]
    return {
        "slope_without": Estimate.mean(slopes(random, ARMS[1])),
        "slope_with": Estimate.mean(slopes(random, ARMS[0])),
        "largest_without": Estimate.mean(without["largest"].to_numpy()),
        "largest_with": Estimate.mean(with_factor["largest"].to_numpy()),
        "gradient_ratio": Estimate.mean(
            (without["median_gradient"] / with_factor["median_gradient"]).to_numpy()
        ),
        "training_gap": Estimate.mean(_final_gap(trained, ARMS[1])),
        "trained_heads": Estimate.share(
            falls.to_numpy(float), [(heads["model"] + heads["layer"].astype(str)).to_numpy()]
        ),
        "like_random": Estimate.median(heads["variance"].to_numpy()),
    }


def _final_gap(trained: pd.DataFrame, arm: str, width: int = 64) -> Float[np.ndarray, " seed"]:
    """Loss over the last tenth, an arm's less that with the factor, seed by seed."""
    last = trained[(trained["d_k"] == width) & (trained["step"] == trained["step"].max())]
    losses = last.pivot(index="seed", columns="series", values="loss")
    gap: np.ndarray = (losses[arm] - losses[ARMS[0]]).to_numpy()
    return gap


def _by_width(random: pd.DataFrame) -> pd.DataFrame:
    """Means over draws, with their 95 % intervals."""
    rows = []
    for (series, width), draws in random.groupby(["series", "d_k"], sort=False):
        row: dict[str, object] = {"series": series, "d_k": width}
        for name in ("variance", "entropy", "largest", "gradient", "median_gradient"):
            found = Estimate.mean(draws[name].to_numpy())
            row |= {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high}
        rows.append(row)
    return pd.DataFrame(rows)


def _sentences(
    random: pd.DataFrame,
    heads: pd.DataFrame,
    trained: pd.DataFrame,
    losses: tuple[Estimate, Estimate],
) -> list[str]:
    widest = random[random["d_k"] == max(WIDTHS)].groupby("series")[["gradient", "median_gradient"]]
    mean, median = (widest.mean().loc[arm] for arm in ARMS[:2])
    gap = Estimate.mean(_final_gap(trained, ARMS[1]))
    smaller = Estimate.mean(_final_gap(trained, ARMS[2]))
    of_model = heads.groupby("model", sort=False)["variance"]
    intact, rise = losses
    return [
        "For random vectors the arithmetic is exact: the variance of the scores grows as d_k and, "
        "divided by √d_k, does not. At d_k = 1,024 the typical row has no gradient left "
        f"({number(median['median_gradient'], 4)} against {number(mean['median_gradient'], 2)}). "
        "The mean falls far less "
        f"({number(median['gradient'], 2)} against {number(mean['gradient'], 2)}): in a few rows "
        "two keys tie for the lead, and there the gradient is at its largest. Gradients vanish "
        "for most rows, not for all. "
        f"Nor does the factor matter at small sizes: up to d_k = {_harmless(random)} the typical "
        "gradient is larger without it.",
        "Trained queries and keys are not random vectors: the variance of q·k, d_k if they were, "
        "is in the median head "
        + " and ".join(
            f"{number(values.median(), 2)} · d_k in {name} ({number(values.min(), 2)} to "
            f"{number(values.max(), 1)})"
            for name, values in of_model
        )
        + ". Training sets the sharpness of each head; the factor sets where it starts. Left out "
        f"of the trained SmolLM2, it costs {number(rise.value, 2)} nats on prose, whose loss is "
        f"{number(intact.value, 2)}.",
        "A small model that learns a lookup with the factor ends "
        f"{number(gap.value, 2)} nats higher without it, after as many steps. Queries that start "
        "out √d_k smaller make the first forward the same, and still it ends "
        f"{number(smaller.value, 2)} nats higher ({number(smaller.low, 2)} to "
        f"{number(smaller.high, 2)}): the factor sets not only where the scores start, but how far "
        "a step of the optimiser moves them.",
    ]


def _harmless(random: pd.DataFrame) -> int:
    """The largest d_k up to which the median row's gradient is larger without the factor."""
    means = random.pivot_table(index="d_k", columns="series", values="median_gradient")
    larger = means.index[means[ARMS[1]] > means[ARMS[0]]]
    return int(larger.max()) if len(larger) else 0


def plates(tables: Tables) -> Iterator[Plate]:
    """Random vectors by d_k; trained heads by layer; losses of models trained on the spot."""
    random = tables["random"]
    yield Plate(
        "random_vectors",
        "Scores and softmax against d_k",
        plots.curves(
            random,
            x="d_k",
            ys={
                "variance of the scores": "variance",
                "largest weight": "largest",
                "gradient, median row": "median_gradient",
            },
            x_label="d_k",
            y_scale=("log", "linear", "log"),
        ),
        "Random queries and keys of unit variance, 64 keys. Gradient: the Frobenius norm of the "
        "softmax's Jacobian. Bands: 95 % intervals over draws (too narrow to be seen where they "
        "are).",
    )
    heads = tables["heads"]
    long = pd.concat(
        [
            heads.assign(value=heads["gradient"], arm=ARMS[0]),
            heads.assign(value=heads["gradient_without"], arm=ARMS[1]),
        ]
    )
    yield Plate(
        "trained_heads",
        "Softmax gradient of trained heads",
        plots.strips(
            long,
            x="layer",
            y="value",
            hue="arm",
            panel="model",
            labels=("layer", "softmax gradient, median row"),
        ),
        "Every head of both models on prose, as trained and with the factor left out: the median "
        f"over rows with at least {LEAST_KEYS} keys. A head at 0 has a row like a pointer.",
    )
    trained = tables["training"]
    last = trained["d_k"].unique()
    yield Plate(
        "training",
        "Loss of small models with and without the factor",
        plots.curves(
            _training_curves(trained),
            x="step",
            ys={f"d_k = {width}": f"loss_{width}" for width in last},
            x_label="step",
            y_label="loss (nats)",
            x_scale="linear",
        ),
        "A one-head model learns to look up one of 16 pairs; loss in nats, mean over seeds. A "
        f"guess costs log 16 = {np.log(16):.2f}. Bands: 95 % intervals over seeds.",
    )


def _training_curves(trained: pd.DataFrame) -> pd.DataFrame:
    """Mean loss over seeds with intervals: `series, step`, and columns for each d_k."""
    rows = []
    for (series, step), at_step in trained.groupby(["series", "step"], sort=False):
        row: dict[str, object] = {"series": series, "step": step}
        for width, losses in at_step.groupby("d_k"):
            found = Estimate.mean(losses["loss"].to_numpy())
            row |= {f"loss_{width}": found.value}
            row |= {f"loss_{width}_low": max(found.low, 0.0), f"loss_{width}_high": found.high}
        rows.append(row)
    return pd.DataFrame(rows)


CLAIM = Claim(
    number=1,
    name="scaling",
    says="Without 1/√d_k the softmax saturates and gradients vanish.",
    how="Scores of random queries and keys for d_k from 8 to 1,024; queries and keys of every head "
    "of SmolLM2 and MiniLM on prose; and one-head models trained with the factor and without.",
    rule=RULE,
    measure=measure,
    plates=plates,
)
