"""Claim 4: H independent projections learn different relations; one large one would not.

Why several heads, and not one as wide as all of them together? A head makes one distribution over
positions for each query, and everything that it brings is averaged by it. Asked for two things at
once, say for the subject of a verb and for its tense, one head must put its weight on both places
and brings one vector, the average of what stands at the two. What stood where is lost: the average
of a and b is that of b and a, and no linear readout, however wide the value was, can tell which was
which. Two heads of half the width have two distributions, and write what they find into different
directions of the residual stream, from which either can be read by itself. The parameters are as
many; what is new is the second softmax.

That argument says that heads *can* differ. Whether they do is a question to the weights (do heads
of a layer read and write in different subspaces?), to the patterns (do they look at different
places?), and to the model itself: if all heads of a layer looked where they look on average, what
would be lost?
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analyses.primer.claim import Claim, Finding, Setting, Tables, minilm, smollm2
from analyses.primer.rule import Ask, Estimate, Rule
from analyses.primer.shared_patterns import mean_patterns
from analyses.primer.subspaces import subspaces
from analyses.primer.texts import passages
from analyses.primer.two_questions import ONE, TWO, training
from interp.measures.divergence import head_distances
from interp.models import Model
from interp.models.random_init import random_init
from interp.report import plots
from interp.report.page import Plate
from interp.report.spelling import number, whole_percent

RULE = Rule(
    (
        Ask(
            name="mean_pattern",
            what="what SmolLM2's loss on prose (nats) rises by when all heads of every layer share "
            "their mean pattern",
            at_least=0.1,
        ),
        Ask(
            name="layers_lose",
            what="share of its layers in which sharing it raises the loss by itself",
            at_least=0.5,
            is_core=False,
        ),
        Ask(
            name="patterns_apart",
            what="Jensen–Shannon divergence of two heads of a layer, over that in models that have "
            "learned nothing (log 10), both models",
            at_least=0.0,
        ),
        Ask(
            name="query_overlap",
            what="overlap of the query subspaces of two heads of a layer, less that of random ones",
            at_most=0.05,
            is_core=False,
            digits=3,
        ),
        Ask(
            name="output_overlap",
            what="the same of the subspaces that they write to",
            at_most=0.05,
            is_core=False,
            digits=3,
        ),
        Ask(
            name="two_beat_one",
            what="accuracy of a small model with two heads less that with one twice as wide, asked "
            "for two things",
            at_least=0.1,
        ),
    )
)


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    n_texts: int
    n_tokens: int
    n_patterns: int  # texts on which patterns are compared
    n_seeds: int
    n_steps: int


SIZES = {"quick": Size(8, 64, 2, 3, 300), "standard": Size(12, 64, 8, 5, 800)}


def measure(setting: Setting) -> Finding:
    """Subspaces, patterns, the mean pattern in place of each, and two small models."""
    size = SIZES[setting.preset]
    with setting.progress("claim 4: independence", 5) as advance:
        overlaps = pd.concat(
            [subspaces(model) for model in (smollm2(), minilm())], ignore_index=True
        )
        advance(1)
        maps = {model.name: distances(model, size) for model in (smollm2(), minilm())}
        nulls = {
            model.name: distances(
                random_init(model, seed=setting.seed, keep_embeddings=False), size
            )
            for model in (smollm2(), minilm())
        }
        apart = divergence_by_layer(maps, nulls)
        advance(1)
        shared = mean_patterns(
            smollm2(), passages(smollm2(), n_texts=size.n_texts, n_tokens=size.n_tokens)
        )
        advance(2)
        trained = training(n_seeds=size.n_seeds, n_steps=size.n_steps, seed=setting.seed)
        advance(1)
    layers = shared[shared["layer"] >= 0].pivot(index="text", columns="layer", values="rise")
    rises = np.array([Estimate.mean(layers[layer].to_numpy()).low > 0 for layer in layers])
    of_same = overlaps[overlaps["kind"] != "same key and value"]
    accuracy = trained.pivot(index="seed", columns="series", values="accuracy")
    evidence = {
        "mean_pattern": Estimate.mean(shared.loc[shared["layer"] == -1, "rise"].to_numpy()),
        "layers_lose": Estimate.share(rises.astype(float)),
        "patterns_apart": Estimate.mean(np.log10(apart["trained"] / apart["untrained"]).to_numpy()),
        "query_overlap": _over_chance(of_same, "query"),
        "output_overlap": _over_chance(overlaps, "output"),
        "two_beat_one": Estimate.mean((accuracy[TWO] - accuracy[ONE]).to_numpy()),
    }
    tables = {
        "overlaps": overlaps,
        "patterns": apart,
        "mean_pattern": shared,
        "training": trained,
    } | {
        f"divergence_{name}": table.round(3).rename_axis("label").reset_index()
        for name, table in maps.items()
    }
    return Finding(
        evidence=evidence,
        sentences=_sentences(overlaps, apart, shared, trained, evidence),
        tables=tables,
    )


def distances(model: Model, size: Size) -> pd.DataFrame:
    """The Jensen–Shannon divergence between the patterns of every two heads, in nats."""
    return head_distances(
        model.plain, passages(model, n_texts=size.n_patterns, n_tokens=size.n_tokens)
    )


def divergence_by_layer(
    maps: dict[str, pd.DataFrame], nulls: dict[str, pd.DataFrame]
) -> pd.DataFrame:
    """The mean divergence of two heads of a layer: `model, layer, trained, untrained`."""
    rows = []
    for name, table in maps.items():
        layers = np.array([int(label[1:].split("H")[0]) for label in table.index])
        for layer in np.unique(layers):
            here = layers == layer
            others = ~np.eye(here.sum(), dtype=bool)
            rows.append(
                {
                    "model": name,
                    "layer": int(layer),
                    "trained": float(table.to_numpy()[np.ix_(here, here)][others].mean()),
                    "untrained": float(nulls[name].to_numpy()[np.ix_(here, here)][others].mean()),
                }
            )
    return pd.DataFrame(rows)


def _over_chance(overlaps: pd.DataFrame, side: str) -> Estimate:
    """The mean overlap less chance, over layers of both models."""
    rows = overlaps[overlaps["side"] == side]
    of_layer = (rows["overlap"] - rows["chance"]).groupby([rows["model"], rows["layer"]]).mean()
    return Estimate.mean(of_layer.to_numpy())


def _sentences(
    overlaps: pd.DataFrame,
    apart: pd.DataFrame,
    shared: pd.DataFrame,
    trained: pd.DataFrame,
    evidence: dict[str, Estimate],
) -> list[str]:
    means = overlaps.groupby(["model", "side", "kind"], sort=False)[["overlap", "chance"]].mean()
    queries = []
    for name in dict.fromkeys(overlaps["model"]):
        of_model = means.loc[name]
        said = f"{number(of_model.loc[('query', 'apart'), 'overlap'])} in {name}"
        if ("query", "same key and value") in of_model.index:
            within = of_model.loc[("query", "same key and value"), "overlap"]
            said += f" ({number(within)} where two heads share their key and value)"
        chance = of_model.loc[("query", "apart"), "chance"]
        queries.append(f"{said}, where random subspaces have {number(chance)}")
    writes = " and ".join(
        f"{number(means.loc[(name, 'output')]['overlap'].mean())} in {name}"
        for name in dict.fromkeys(overlaps["model"])
    )
    ratio = (apart["trained"] / apart["untrained"]).groupby(apart["model"], sort=False).median()
    by_layer = shared[shared["layer"] >= 0].groupby("layer")["rise"].mean()
    exchanged = shared.loc[shared["layer"] == -2, "rise"].mean()
    accuracy = trained.groupby("series", sort=False)["accuracy"].mean()
    n_parameters_of = trained.groupby("series", sort=False)["n_parameters"].first()
    return [
        f"Two heads of a layer ask in subspaces that overlap by {'; '.join(queries)}. They write "
        f"into subspaces that overlap by {writes}. Where that is above chance, the heads of a "
        "layer share directions of the stream.",
        "In where they look, two heads of a layer diverge "
        + " and ".join(
            f"{number(value, 0)} times as much in {name}" for name, value in ratio.items()
        )
        + " as in a model of that shape with random weights.",
        f"When all heads of a layer share their mean pattern, the loss rises most in layer "
        f"{by_layer.idxmax()} ({number(by_layer.max())} nats); in every layer at once, by "
        f"{number(evidence['mean_pattern'].value)}. With patterns exchanged between the heads of a "
        f"layer it rises by {number(exchanged)}: it matters which head looks where.",
        f"Asked for what stands at two places, a small model with {TWO} answers "
        f"{whole_percent(accuracy[TWO])} right, and with {ONE}, {whole_percent(accuracy[ONE])} "
        f"({n_parameters_of[TWO]:,} and {n_parameters_of[ONE]:,} parameters). One softmax brings "
        "one average, and what stood where is lost in it.",
    ]


def plates(tables: Tables) -> Iterator[Plate]:
    """The map of divergences, subspaces against chance, and the cost of a shared pattern."""
    maps = {
        name.removeprefix("divergence_"): table.set_index("label")
        for name, table in tables.items()
        if name.startswith("divergence_")
    }
    ends = [sum(label.startswith("L0H") for label in table.index) for table in maps.values()]
    yield Plate(
        "divergence",
        "Jensen–Shannon divergence between the patterns of every two heads",
        plots.squares(maps, label="divergence (nats)", ends=ends),
        "Every two heads, in the order of layers; dark blocks are heads that look at the same "
        "places. The most that it can be is log 2 = 0.69.",
    )
    overlaps = tables["overlaps"]
    of_heads = overlaps[overlaps["side"].isin(["query", "output"])]
    by_layer = (
        of_heads.assign(over=of_heads["overlap"] / of_heads["chance"])
        .groupby(["model", "layer", "side", "kind"], sort=False)["over"]
        .mean()
        .reset_index()
    )
    by_layer["what"] = by_layer["side"] + by_layer["kind"].map(
        {"apart": "", "same key and value": ", key and value shared"}
    )
    yield Plate(
        "subspaces",
        "Overlap of the subspaces of two heads of a layer",
        plots.strips(
            by_layer,
            x="layer",
            y="over",
            hue="what",
            panel="model",
            labels=("layer", "overlap over chance"),
            lines={1: "random"},
        ),
        "The mean squared cosine of the principal angles between the subspaces of two heads, over "
        "d_head / d_model, which is that of random ones; means over the pairs of a layer. Those of "
        "keys and values are in overlaps.csv.",
    )
    shared = tables["mean_pattern"]
    rows = []
    for layer, of_layer in shared[shared["layer"] >= 0].groupby("layer"):
        found = Estimate.mean(of_layer["rise"].to_numpy())
        rows.append(
            {"series": "all heads share their mean pattern", "layer": layer, "rise": found.value}
            | {"rise_low": found.low, "rise_high": found.high}
        )
    yield Plate(
        "mean_pattern",
        "What the loss rises by when the heads of a layer share their mean pattern",
        plots.curves(
            pd.DataFrame(rows),
            x="layer",
            ys={"one layer at a time": "rise"},
            x_label="layer",
            y_label="rise of the loss (nats)",
            x_scale="linear",
        ),
        "SmolLM2 on prose; bands are 95 % intervals over texts.",
    )


CLAIM = Claim(
    number=4,
    name="independence",
    says="H independent projections learn different relations; one large one would not.",
    how="Principal angles between the heads' subspaces, against random ones; the divergence "
    "between their patterns, against models that have learned nothing; all heads of a layer given "
    "their mean pattern; and small models with one head and with two.",
    rule=RULE,
    measure=measure,
    plates=plates,
)
