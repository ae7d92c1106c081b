"""Claim 3: causal for generation, bidirectional for understanding; mixed up, the masks leak.

A model that is trained to say the next token must not see it. If it does, its training loss looks
better than it can be, and nothing else is amiss until it is used: then there is no next token to
look at. A model that is to understand a sentence loses by a causal mask what stands behind a word.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from analyses.primer.chain import training
from analyses.primer.claim import Claim, Finding, Setting, Tables, minilm, smollm2
from analyses.primer.mask_bugs import BUGS, correct_variants, leaks, prefix_seen_whole
from analyses.primer.rule import Ask, Estimate, Rule
from analyses.primer.texts import (
    halves,
    last_token_losses,
    next_token_losses,
    passages,
)
from interp.attention import causal_mask
from interp.models import Model
from interp.models.plain import Attend, Call, attend
from interp.report import plots
from interp.report.page import Plate
from interp.report.spelling import number, scientific

N_BUGS, N_CORRECT = len(BUGS), 100
RULE = Rule(
    (
        Ask(
            name="bugs_found",
            what=f"planted mask bugs that the leak probe finds, of {N_BUGS}",
            at_least=N_BUGS,
            digits=0,
        ),
        Ask(
            name="false_alarms",
            what=f"false alarms in {N_CORRECT} correct variants",
            at_most=0,
            digits=0,
        ),
        Ask(
            name="leak_causal",
            what="SmolLM2, largest move of an earlier logit when the last token changes, as a "
            "share of the largest logit",
            at_most=1e-5,
            digits=6,
        ),
        Ask(name="leak_bidirectional", what="the same with a bidirectional mask", at_least=1e-2),
        Ask(
            name="flattered",
            what="training loss (nats) of a small model whose mask leaks, less the entropy of its "
            "source, below which no honest model comes",
            at_most=0.0,
        ),
        Ask(
            name="worse_in_use",
            what="loss (nats) of that model where there is no next token to see, less that of an "
            "honest one",
            at_least=0.0,
        ),
        Ask(
            name="encoder_loses",
            what="margin by which MiniLM tells a passage's other half from those of others, less "
            "that under a causal mask",
            at_least=0.0,
            digits=3,
        ),
        Ask(
            name="decoder_loses",
            what="SmolLM2's loss (nats) on prose under a bidirectional mask, less that under its "
            "own",
            at_least=0.0,
            is_core=False,
        ),
    )
)


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    n_texts: int
    n_tokens: int
    n_seeds: int
    n_steps: int


SIZES = {"quick": Size(8, 64, 3, 300), "standard": Size(16, 64, 5, 600)}


def measure(setting: Setting) -> Finding:
    """Bugs and correct variants, both models under the other's mask, and a leak that is trained."""
    size = SIZES[setting.preset]
    with setting.progress("claim 3: masks", 4) as advance:
        probes = probed(seed=setting.seed)
        advance(1)
        decoder = of_decoder(smollm2(), size)
        advance(1)
        encoder = of_encoder(minilm())
        advance(1)
        trained = training(n_seeds=size.n_seeds, n_steps=size.n_steps, seed=setting.seed)
        advance(1)
    last = trained[trained["step"] == trained["step"].max()].set_index(["series", "seed"])
    leaking, honest = last.loc["leaking mask"], last.loc["causal mask"]
    bugs = probes[probes["kind"] == "bug"]
    losses = decoder["bidirectional"] - decoder["causal"]
    evidence = {
        "bugs_found": Estimate.exact(float(bugs["found"].sum())),
        "false_alarms": Estimate.exact(
            float(probes.loc[probes["kind"] == "correct", "found"].sum())
        ),
        "leak_causal": Estimate.exact(movement(smollm2(), attend)),
        "leak_bidirectional": Estimate.exact(movement(smollm2(), everything)),
        "flattered": Estimate.mean((leaking["loss"] - leaking["entropy"]).to_numpy()),
        "worse_in_use": Estimate.mean((leaking["in_use"] - honest["in_use"]).to_numpy()),
        "encoder_loses": Estimate.mean((encoder["intact"] - encoder["causal"]).to_numpy()),
        "decoder_loses": Estimate.mean(losses.to_numpy()),
    }
    return Finding(
        evidence=evidence,
        sentences=_sentences(evidence, decoder, encoder, leaking, honest),
        tables={"probes": probes, "decoder": decoder, "encoder": encoder, "training": trained},
    )


def probed(*, seed: int) -> pd.DataFrame:
    """The planted bugs and the correct variants, and whether the probe says that each leaks."""
    rows = [
        {
            "kind": "bug",
            "name": bug.__name__.replace("_", " "),
            "what": " ".join((bug.__doc__ or "").split()),
            "found": leaks(bug, n_pos=12, seed=seed),
        }
        for bug in BUGS
    ]
    rows += [
        {
            "kind": "correct",
            "name": variant.name,
            "what": f"{variant.n_pos} positions",
            "found": leaks(variant.attention, n_pos=variant.n_pos, seed=seed),
        }
        for variant in correct_variants(N_CORRECT, seed=seed)
    ]
    return pd.DataFrame(rows)


def everything(call: Call) -> Tensor:
    """Attention under a bidirectional mask, whatever the model asks for."""
    return attend(Call(call.layer, call.query, call.key, call.value, call.options | {"mask": None}))


def past_alone(call: Call) -> Tensor:
    """Attention under a causal mask too."""
    n_pos = call.query.shape[2]
    mask = causal_mask(n_pos, n_pos)
    own = call.options["mask"]
    options = call.options | {"mask": mask if own is None else mask & own}
    return attend(Call(call.layer, call.query, call.key, call.value, options))


def movement(model: Model, attending: Attend) -> float:
    """How far earlier logits move when the last token changes, as a share of the largest logit."""
    ids = passages(model, n_texts=1, n_tokens=24)
    other = ids.clone()
    other[:, -1] = ids[:, 1]
    with torch.inference_mode(), model.plain.attending(attending):
        one, two = (model.plain(each).logits for each in (ids, other))
    return float((one - two)[:, :-1].abs().max() / one.abs().max())


def of_decoder(model: Model, size: Size) -> pd.DataFrame:
    """The decoder's loss on each passage under either mask.

    One row a text: `causal` and `bidirectional`, all positions at once; and `…_in_use` at the last
    of eight beginnings of the text, with nothing behind it.
    """
    ids = passages(model, n_texts=size.n_texts, n_tokens=size.n_tokens)
    masks: dict[str, Attend] = {"causal": attend, "bidirectional": everything}
    columns: dict[str, object] = {"text": range(len(ids))}
    for name, attending in masks.items():
        columns[name] = next_token_losses(model, ids, attending)
        columns[f"{name}_in_use"] = np.mean(
            [
                last_token_losses(model, ids[:, :end], attending)
                for end in range(size.n_tokens // 8, size.n_tokens + 1, size.n_tokens // 8)
            ],
            axis=0,
        )
    return pd.DataFrame(columns)


def of_encoder(model: Model) -> pd.DataFrame:
    """How much nearer the two halves of a passage are than halves of others: `intact`, `causal`.

    Cosines of mean states, which is what the model was trained for; −2 to 2.
    """
    columns = {}
    for name, attending in (("intact", attend), ("causal", past_alone)):
        first, second = (
            torch.stack([_state(model, text, attending) for text in side])
            for side in zip(*halves(), strict=True)
        )
        cosine = torch.cosine_similarity(first[:, None], second[None], dim=-1).double().numpy()
        own = np.diag(cosine)
        others = (cosine.sum(axis=1) - own) / (len(cosine) - 1)
        columns[name] = own - others
    return pd.DataFrame({"text": range(len(own)), **columns})


def _state(model: Model, text: str, attending: Attend) -> Float[Tensor, " d_model"]:
    ids = torch.tensor([model.tokens(text).ids])
    with torch.inference_mode(), model.plain.attending(attending):
        return model.plain.last_block(ids)[0].mean(0)


def _sentences(
    evidence: dict[str, Estimate],
    decoder: pd.DataFrame,
    encoder: pd.DataFrame,
    leaking: pd.DataFrame,
    honest: pd.DataFrame,
) -> list[str]:
    drop = encoder["causal"].mean() / encoder["intact"].mean()
    hidden = not leaks(prefix_seen_whole, n_pos=12, seed=0)
    shorter = leaks(prefix_seen_whole, n_pos=6, seed=0)
    return [
        f"The leak probe finds {evidence['bugs_found'].value:.0f} of {N_BUGS} planted mask bugs "
        f"and raises {evidence['false_alarms'].value:.0f} false alarms in {N_CORRECT} correct "
        "variants. It changes the last token and looks at what comes before, so that "
        + (
            "a prefix whose positions see each other escapes it in a longer text and is found in "
            "one that ends with the prefix: ask at more than one length."
            if hidden and shorter
            else "it should be asked at more than one length."
        ),
        "A small model that sees the next token has a training loss of "
        f"{number(leaking['loss'].mean())} nats where the source has an entropy of "
        f"{number(leaking['entropy'].mean())}, and where there is nothing to see a loss of "
        f"{number(leaking['in_use'].mean())}; the honest one has "
        f"{number(honest['in_use'].mean())} in either. Nothing but the impossible loss gives the "
        "leak away in training.",
        f"SmolLM2 under a bidirectional mask moves earlier logits by "
        f"{number(evidence['leak_bidirectional'].value)} of the largest (its own mask: "
        f"{scientific(evidence['leak_causal'].value)}). Its loss on prose goes from "
        f"{number(decoder['causal'].mean())} to {number(decoder['bidirectional'].mean())} nats; "
        "where there is no next token to see, from "
        f"{number(decoder['causal_in_use'].mean())} to "
        f"{number(decoder['bidirectional_in_use'].mean())}. A leak can flatter a model that was "
        "never trained with one.",
        "MiniLM under a causal mask keeps "
        f"{number(100 * drop, 0)} % of the margin by which it tells the two halves of a passage "
        "from halves of others, without training. An encoder needs what stands behind a word less "
        "for the gist of a passage than the claim makes one think."
        if drop > 0.5
        else "MiniLM under a causal mask keeps "
        f"{number(100 * drop, 0)} % of the margin by which it tells the two halves of a passage "
        "from halves of others, without training.",
    ]


def plates(tables: Tables) -> Iterator[Plate]:
    """A leak as training sees it and as use does."""
    trained = tables["training"]
    rows = []
    for (series, step), at_step in trained.groupby(["series", "step"], sort=False):
        row: dict[str, object] = {"series": series, "step": step}
        for name in ("loss", "in_use"):
            found = Estimate.mean((at_step[name] - at_step["entropy"]).to_numpy())
            row |= {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high}
        rows.append(row)
    yield Plate(
        "leak",
        "Loss of small models with and without a leak",
        plots.curves(
            pd.DataFrame(rows),
            x="step",
            ys={"as training sees it": "loss", "in use": "in_use"},
            x_label="step",
            y_label="loss over the entropy (nats)",
            x_scale="linear",
        ),
        "One-layer models of a Markov chain. Left: all positions at once, the next symbol in sight "
        "of the leaking one. Right: each position with nothing behind it. Below 0 no honest model "
        "can be. Bands: 95 % intervals over seeds.",
    )


CLAIM = Claim(
    number=3,
    name="masks",
    says="Causal for generation, bidirectional for understanding; mixing up the masks leaks, "
    "invisibly until one looks.",
    how="Ten classic mask bugs and 100 correct variants under the leak probe; each model under the "
    "other's mask; and small models of a Markov chain, whose entropy is known, with a mask that "
    "leaks.",
    rule=RULE,
    measure=measure,
    plates=plates,
)
