"""Claim 2: attention blends, it does not select.

The output of a head is an average of values. How wide that average is, the pattern says; whether
its width matters, only an exchange can say. Two are made: the row of a head at the query becomes
a pointer, all weight on its largest entry, or a plain mean over all that it may see. A head that
can do with the pointer selects; one that can do with the mean does not even choose.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor

from analyses.primer.claim import (
    Claim,
    Finding,
    Setting,
    Tables,
    committed_runs,
    minilm,
    smollm2,
)
from analyses.primer.keys import keys_in_use
from analyses.primer.pointers import CHANGED, MATTERS, Kind, exchanged, exchanged_on_prose
from analyses.primer.rule import Ask, Estimate, Rule
from analyses.primer.texts import next_token_losses, passages
from interp.models import Model
from interp.models.plain import Attend, attend
from interp.report import plots
from interp.report.canvas import COLOURS
from interp.report.page import Plate
from interp.report.spelling import number
from interp.tasks import NAMES

RULE = Rule(
    (
        Ask(
            name="keys_in_use",
            what="effective number of keys of the median head, the sink not counted, both models",
            at_least=2.0,
            digits=1,
        ),
        Ask(
            name="pointers_cost",
            what="what SmolLM2's loss on prose (nats) rises by when every head is a pointer",
            at_least=0.1,
        ),
        Ask(
            name="pointer_heads",
            what="of the heads that matter to a phenomenon, the share that are pointers in effect",
            at_most=0.1,
            is_core=False,
        ),
        Ask(
            name="mean_heads",
            what="the share that are plain means in effect",
            at_most=0.1,
            is_core=False,
        ),
    )
)


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    n_texts: int
    n_tokens: int
    n_pairs: int  # of each phenomenon
    each_head_on_prose: bool


SIZES = {"quick": Size(6, 64, 32, False), "standard": Size(16, 64, 128, True)}


def measure(setting: Setting) -> Finding:
    """Keys in use; then pointers and means, for all heads at once and for each."""
    size = SIZES[setting.preset]
    texts = partial(passages, n_texts=size.n_texts, n_tokens=size.n_tokens)
    with setting.progress("claim 2: blending", 2) as advance:
        heads = pd.concat(
            [keys_in_use(model, texts(model)) for model in (smollm2(), minilm())], ignore_index=True
        )
        advance(1)
        together = all_at_once(smollm2(), minilm(), size)
        advance(1)
    with setting.progress("claim 2: blending, on prose", 1) as advance:
        prose = exchanged_on_prose(
            smollm2(),
            n_texts=size.n_texts,
            n_tokens=size.n_tokens,
            each_head=size.each_head_on_prose,
        )
        advance(1)
    effects = pd.concat(
        [exchanged(smollm2(), task, size.n_pairs, setting) for task in NAMES], ignore_index=True
    )
    matter = that_matter(effects)
    per_text = heads.groupby(["model", "label"])["alone"].median()
    loss = together[together["model"] == smollm2().name]
    evidence = {
        "keys_in_use": Estimate.median(per_text.to_numpy()),
        "pointers_cost": Estimate.mean((loss["pointer"] - loss["intact"]).to_numpy(float)),
        "pointer_heads": share_of(matter["kind"], Kind.POINTER),
        "mean_heads": share_of(matter["kind"], Kind.MEAN),
    }
    return Finding(
        evidence=evidence,
        sentences=_sentences(heads, together, effects, matter, prose),
        tables={
            "keys_in_use": heads.groupby(["model", "layer", "head", "label"], sort=False)[
                ["all", "alone", "sink"]
            ]
            .median()
            .reset_index(),
            "all_heads_at_once": together,
            "exchanged": effects,
            "exchanged_on_prose": prose,
            "heads_that_matter": matter,
        },
    )


def all_at_once(decoder: Model, encoder: Model, size: Size) -> pd.DataFrame:
    """Every row of every head a pointer, or a mean: `model, text, intact, pointer, mean`.

    Of the decoder the loss on prose in nats; of the encoder how far the mean state moves, 1 −
    cosine.
    """
    tables = []
    ids = passages(decoder, n_texts=size.n_texts, n_tokens=size.n_tokens)
    arms: dict[str, Attend] = {"intact": attend, **CHANGED}
    tables.append(
        pd.DataFrame(
            {name: next_token_losses(decoder, ids, arm) for name, arm in arms.items()}
        ).assign(model=decoder.name)
    )
    ids = passages(encoder, n_texts=size.n_texts, n_tokens=size.n_tokens)
    states = {name: _mean_states(encoder, ids, arm) for name, arm in arms.items()}
    tables.append(
        pd.DataFrame(
            {
                name: (1 - torch.cosine_similarity(each, states["intact"], dim=-1)).double().numpy()
                for name, each in states.items()
            }
        ).assign(model=encoder.name)
    )
    return pd.concat(tables).rename_axis("text").reset_index()


def that_matter(effects: pd.DataFrame) -> pd.DataFrame:
    """The heads that matter at the query in the committed run.

    The rows of `exchanged`, and `removed`, the head's effect in that run.
    """
    tables = []
    for task, run in committed_runs().items():
        verdicts = run.tables["verdicts"].rename(columns={"effect_query": "removed"})
        chosen = verdicts.loc[verdicts["matters_query"], ["label", "removed"]]
        of_task = effects[effects["task"] == task]
        tables.append(of_task.merge(chosen, on="label", validate="1:1"))
    return pd.concat(tables, ignore_index=True)


def share_of(kinds: "pd.Series[str]", wanted: Kind) -> Estimate:
    """The share of a kind among those that are decided, with its interval."""
    decided = kinds[kinds != Kind.UNDECIDED]
    return Estimate.proportion(int((decided == wanted).sum()), len(decided))


def _mean_states(
    model: Model, ids: Int[Tensor, "text pos"], attending: Attend
) -> Float[Tensor, "text d_model"]:
    with torch.inference_mode(), model.plain.attending(attending):
        return model.plain.last_block(ids).mean(1)


def _sentences(
    heads: pd.DataFrame,
    together: pd.DataFrame,
    effects: pd.DataFrame,
    matter: pd.DataFrame,
    prose: pd.DataFrame,
) -> list[str]:
    medians = heads.groupby("model", sort=False)[["all", "alone", "sink"]].median()
    losses = together.groupby("model", sort=False)[["intact", "pointer", "mean"]].mean()
    decoder, encoder = losses.iloc[0], losses.iloc[1]
    counts = {each: int((matter["kind"] == each).sum()) for each in Kind}
    return [
        "Among some 50 tokens the median head uses "
        + " and ".join(
            f"{number(row['all'], 1)} keys in {name} ({number(row['alone'], 1)} without the sink, "
            f"which takes {number(row['sink'])})"
            for name, row in medians.iterrows()
        )
        + ". Counted with its sink a head looks like a pointer that it is not.",
        f"All heads of SmolLM2 made pointers at once: the loss on prose goes from "
        f"{number(decoder['intact'])} to {number(decoder['pointer'])} nats; made plain means, to "
        f"{number(decoder['mean'])}. MiniLM's mean state moves by {number(encoder['pointer'], 3)} "
        f"and {number(encoder['mean'], 3)} (1 − cosine).",
        f"Of the {len(matter)} heads that matter to a phenomenon, {counts[Kind.POINTER]} can do "
        f"with a pointer and not with a mean, {counts[Kind.MEAN]} with a mean and not with a "
        f"pointer, {counts[Kind.BLEND]} with neither, {counts[Kind.EITHER]} with either (within "
        f"{number(100 * MATTERS, 0)} % of the gap), and {counts[Kind.UNDECIDED]} are undecided. "
        f"Over all heads and phenomena: {_kinds(effects['kind'])}. For the loss on prose, all rows "
        f"of a layer's heads exchanged at once (within {number(MATTERS)} nats): "
        f"{_kinds(prose.loc[prose['head'] < 0, 'kind'])} layers"
        + (
            f"; head by head: {_kinds(prose.loc[prose['head'] >= 0, 'kind'])} heads."
            if (prose["head"] >= 0).any()
            else "."
        ),
    ]


def _kinds(kinds: "pd.Series[str]") -> str:
    counts = {each: int((kinds == each).sum()) for each in Kind}
    return (
        f"{counts[Kind.POINTER]} pointers, {counts[Kind.MEAN]} means, {counts[Kind.BLEND]} blends, "
        f"{counts[Kind.EITHER]} that can do with either, {counts[Kind.UNDECIDED]} undecided, of "
        f"{len(kinds)}"
    )


def plates(tables: Tables) -> Iterator[Plate]:
    """Keys in use by layer; what pointers and means cost, head by head."""
    heads = tables["keys_in_use"]
    long = pd.concat(
        [
            heads.assign(value=heads["all"], counted="all keys"),
            heads.assign(value=heads["alone"], counted="without the sink"),
        ]
    )
    yield Plate(
        "keys_in_use",
        "Effective number of keys of every head",
        plots.strips(
            long,
            x="layer",
            y="value",
            hue="counted",
            panel="model",
            labels=("layer", "effective number of keys"),
            scale="log",
            lines={1: "a pointer"},
        ),
        "exp of the entropy of a row, on passages of 64 tokens; medians over the rows of their "
        "second halves.",
    )
    matter = tables["heads_that_matter"]
    palette = {
        Kind.POINTER: COLOURS[3],
        Kind.MEAN: COLOURS[1],
        Kind.BLEND: COLOURS[0],
        Kind.UNDECIDED: "#8c8c8c",
        Kind.EITHER: "#dcdcdc",
    }
    far = matter[["pointer", "mean"]].abs().max(axis=1).groupby(matter["task"]).nlargest(6)
    yield Plate(
        "exchanged",
        "What a pointer and a mean in place of a head's row cost",
        plots.points(
            matter.assign(
                task=matter["task"].str.replace("_", " "),
                is_named=matter.index.isin(far.index.get_level_values(-1)),
            ),
            x="pointer",
            y="mean",
            hue="kind",
            panel="task",
            labels=("cost as a pointer (share of the gap)", "cost as a mean"),
            palette={str(name): colour for name, colour in palette.items()},
            lines=((-MATTERS, MATTERS), (-MATTERS, MATTERS)),
        ),
        "The heads of SmolLM2 that matter; their row at the query made a pointer (across) or a "
        "plain mean (up). "
        f"Dashed: {100 * MATTERS:.0f} % of the gap on either side of nothing. Below 0 the exchange "
        "helps.",
    )


CLAIM = Claim(
    number=2,
    name="blending",
    says="Attention blends, it does not select.",
    how="The effective number of keys of every head; then, in SmolLM2, each head's row at the "
    "query made a pointer or a plain mean, and what the three phenomena and the loss lose.",
    rule=RULE,
    measure=measure,
    plates=plates,
)
