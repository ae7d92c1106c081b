"""Three groups of heads by what they attend to: syntactic, coreferential, semantic."""

from collections.abc import Sequence
from itertools import combinations

import pandas as pd
import torch

from interp.evidence.removal import clusters_of
from interp.items import Item
from interp.measures.semantic import semantic_scores
from interp.measures.syntactic import syntactic_scores
from interp.models import Model
from interp.models.record import record
from interp.stats import max_t
from interp.tasks import build
from interp.tasks.parsed import noun_pairs
from interp.tasks.readers.dependencies import dependency_items
from interp.tasks.readers.treebank import Sentence
from interp.tasks.sentences import read_at

RELATIONS = ("nsubj", "obj", "amod", "det", "nmod")
GROUPS = ("syntactic", "coreferential", "semantic")
SCORES = ("advantage", "above_half", "rho")
LEAST_ADVANTAGE = 0.1  # over the offset, of all cases
LEAST_ABOVE_HALF = 0.1  # over a half, which is chance between two names
LEAST_RHO = 0.1
ALPHA = 0.05


def scores_of(
    model: Model, sentences: Sequence[Sentence], *, n_pairs: int, seed: int
) -> pd.DataFrame:
    """The three scores of each head, and which groups it is in.

    One row a head: `model, layer, head, label`; `advantage` over the best offset in the `relation`
    where that is largest; `above_half`, how much oftener than every second time the name that is
    meant gets more than the other; `rho`; and `is_syntactic`, `is_coreferential`, `is_semantic`.
    """
    items = [item for relation in RELATIONS for item in dependency_items(sentences, relation)]
    syntax = syntactic_scores(model, items, seed=seed)
    best = syntax.sort_values("advantage").groupby(["layer", "head"]).tail(1)
    counts = (syntax["advantage"] >= LEAST_ADVANTAGE) & (syntax["p"] < ALPHA)
    is_syntactic = counts.groupby([syntax["layer"], syntax["head"]]).any()
    semantics = semantic_scores(model, noun_pairs(list(sentences)), seed=seed)
    names = coreferential_scores(model, n_pairs=n_pairs, seed=seed)
    table = best[["layer", "head", "label", "relation", "advantage"]].merge(
        is_syntactic.rename("is_syntactic").reset_index(), on=["layer", "head"]
    )
    table = table.merge(semantics[["layer", "head", "rho", "p"]], on=["layer", "head"])
    table = table.merge(names, on=["layer", "head"], suffixes=("_semantic", "_names"))
    return table.assign(
        model=model.name,
        is_coreferential=(table["above_half"] >= LEAST_ABOVE_HALF) & (table["p_names"] < ALPHA),
        is_semantic=(table["rho"] >= LEAST_RHO) & (table["p_semantic"] < ALPHA),
    ).sort_values(["layer", "head"])


def coreferential_scores(model: Model, *, n_pairs: int, seed: int) -> pd.DataFrame:
    """How much oftener than every second time a head looks at the name that the pronoun means.

    One row a head: `layer, head, above_half` (−.5 to .5) and `p`, adjusted over heads. The two
    names change roles within a pair, so that a head that looks at a place has exactly 0.
    """
    built = build("coreference/name", model.tokenizer, n_pairs=2 * n_pairs, seed=seed)
    items: list[Item] = []
    hits = []
    for batch in model.encode(read_at(built)):
        recorded = record(model.plain, batch, keep=("pattern",))
        pattern = torch.stack(recorded.pattern, dim=1)
        source, other = (
            (pattern * places[:, None, None]).sum(-1) for places in (batch.source, batch.distractor)
        )
        hits.append((source > other).float() - 0.5 + 0.5 * (source == other).float())
        items += batch.items
    values = torch.cat(hits).flatten(1).double().numpy()
    tested = max_t(values, clusters_of(items), seed=seed)
    return pd.DataFrame(
        {
            "layer": [head.layer for head in model.heads],
            "head": [head.head for head in model.heads],
            "above_half": values.mean(axis=0),
            "p": tested.p_value,
        }
    )


def overlaps(heads: pd.DataFrame) -> pd.DataFrame:
    """The Jaccard overlap of every two groups in each model: `model, one, other, overlap`."""
    return pd.DataFrame(
        [
            {
                "model": name,
                "one": one,
                "other": other,
                "overlap": jaccard(of_model[f"is_{one}"], of_model[f"is_{other}"]),
            }
            for name, of_model in heads.groupby("model", sort=False)
            for one, other in combinations(GROUPS, 2)
        ]
    )


def jaccard(one: "pd.Series[bool]", other: "pd.Series[bool]") -> float:
    """Heads in both over heads in either; 0 where there is none."""
    either = (one | other).sum()
    return float((one & other).sum() / either) if either else 0.0
