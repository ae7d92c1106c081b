"""Removing several heads at once: what they do together, and given that others are gone."""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import pandas as pd
import torch
from jaxtyping import Bool
from torch import Tensor

from interp.effects.baselines import Baseline, Resample
from interp.effects.measuring import measure
from interp.effects.metrics import LOGIT_DIFFERENCE, Metric, MetricFunction, as_metric
from interp.effects.parts import Removals
from interp.effects.pieces import limits
from interp.effects.scopes import AnyScope, Scope, as_scope
from interp.effects.work import intervention_name
from interp.encode import Batch
from interp.heads import Head
from interp.models.model import Model
from interp.progress import Progress, silent
from interp.shards import Shards

_RESAMPLE = Resample()
Sets = Mapping[str, Sequence[Head]]


def joint(
    model: Model,
    batches: Sequence[Batch],
    sets: Sets,
    *,
    scope: AnyScope | str = Scope.QUERY,
    baseline: Baseline = _RESAMPLE,
    metric: Metric | MetricFunction = LOGIT_DIFFERENCE,
    memory: int | None = None,
    shards: Shards | None = None,
    progress: Progress = silent,
) -> pd.DataFrame:
    """The effect of removing each set of heads together, on every item, exactly.

    One row a set and item: `set`, `n_heads`, `intervention`, `baseline`, `scope`, `metric`,
    `item_id`, `intact`, `edited`, `corrupt`, as in `sweep`. On an edge, a head above another that
    is removed loses what it takes over the edge in that run, and gets what its donor takes in the
    intact one.

    Args:
        sets: heads by the set's name; an empty set is the intact run computed again.
        shards: as in `sweep`.

    Raises:
        ValueError: there is no set, the model has no such head, or see `sweep`.
    """
    if not sets:
        raise ValueError("expected at least one set of heads, got none.")
    where, chosen, measured = as_scope(scope), _masks(model, sets), as_metric(metric)
    asked = [
        Removals(batch=batch, scope=where, baseline=baseline, metrics=(measured,), sets=chosen)
        for batch in batches
    ]
    found = measure(
        model, asked, within=limits(model.plain, memory), shards=shards,
        label=f"{batches[0].items[0].task}, {where}, joint", progress=progress,
    )  # fmt: skip
    tables = [
        pd.DataFrame(
            {
                "set": np.repeat(list(sets), len(batch)),
                "n_heads": np.repeat([len(set(heads)) for heads in sets.values()], len(batch)),
                "item_id": np.tile([item.item_id for item in batch.items], len(sets)),
                "intact": values.intact[0].repeat(len(sets)).numpy(),
                "edited": values.edited[0].flatten().numpy(),
                "corrupt": values.corrupt[0].repeat(len(sets)).numpy(),
            }
        )
        for batch, values in zip(batches, found, strict=True)
    ]
    table = pd.concat(tables, ignore_index=True)
    return table.assign(
        intervention=intervention_name(where, baseline),
        baseline=baseline.name,
        scope=str(where),
        metric=measured.name,
    )


def removed(model: Model, batches: Sequence[Batch], **choices: object) -> pd.DataFrame:
    """All heads removed together: `edited` is m_∅, by which effects of removals are normalised.

    Args:
        choices: as in `joint`.
    """
    return joint(model, batches, {"all": model.heads}, **choices)  # type: ignore[arg-type]


def conditional(
    model: Model,
    batches: Sequence[Batch],
    heads: Sequence[Head],
    *,
    given: Sequence[Head],
    **choices: object,
) -> pd.DataFrame:
    """What each head's removal adds once others are removed: Δ(S ∪ h) − Δ(S).

    One row a head and item: `layer`, `head`, `item_id`, `alone` (the head's effect by itself) and
    `conditional`.

    Args:
        given: the heads S that are removed beforehand.
        choices: as in `joint`.

    Raises:
        ValueError: a head is among those given.
    """
    among = sorted(set(heads) & set(given))
    if among:
        raise ValueError(f"{among[0].label} is removed beforehand; leave it out of one of the two.")
    sets: dict[str, Sequence[Head]] = {"given": list(given)}
    sets |= {head.label: [head] for head in heads}
    sets |= {f"{head.label} too": [*given, head] for head in heads}
    effect = _effects(joint(model, batches, sets, **choices))  # type: ignore[arg-type]
    return pd.concat(
        [
            pd.DataFrame(
                {
                    "layer": head.layer,
                    "head": head.head,
                    "item_id": effect.index,
                    "alone": effect[head.label].to_numpy(),
                    "conditional": (effect[f"{head.label} too"] - effect["given"]).to_numpy(),
                }
            )
            for head in heads
        ],
        ignore_index=True,
    )


def interactions(
    model: Model, batches: Sequence[Batch], heads: Sequence[Head], **choices: object
) -> pd.DataFrame:
    """How two heads' effects fall short of, or exceed, their sum: Δ{g, h} − Δg − Δh.

    One row a pair and item: `one`, `other` (labels), `item_id`, `effect_one`, `effect_other`,
    `effect_both` and `interaction`, positive where either head makes up for the other (OR),
    negative where both are needed (AND).

    Args:
        choices: as in `joint`.

    Raises:
        ValueError: there are fewer than two heads.
    """
    if len(set(heads)) < 2:
        raise ValueError(f"expected two heads or more, got {len(set(heads))}.")
    pairs = list(combinations(sorted(set(heads)), 2))
    sets: dict[str, Sequence[Head]] = {head.label: [head] for head in heads}
    sets |= {f"{one.label}+{other.label}": [one, other] for one, other in pairs}
    effect = _effects(joint(model, batches, sets, **choices))  # type: ignore[arg-type]
    rows = []
    for one, other in pairs:
        both = effect[f"{one.label}+{other.label}"]
        rows.append(
            pd.DataFrame(
                {
                    "one": one.label,
                    "other": other.label,
                    "item_id": effect.index,
                    "effect_one": effect[one.label].to_numpy(),
                    "effect_other": effect[other.label].to_numpy(),
                    "effect_both": both.to_numpy(),
                    "interaction": (both - effect[one.label] - effect[other.label]).to_numpy(),
                }
            )
        )
    return pd.concat(rows, ignore_index=True)


def _effects(table: pd.DataFrame) -> pd.DataFrame:
    """Effects, a row an item and a column a set."""
    effect = table.assign(effect=table["intact"] - table["edited"])
    return effect.pivot(index="item_id", columns="set", values="effect")


def _masks(model: Model, sets: Sets) -> Bool[Tensor, "variant layer head"]:
    masks = torch.zeros(len(sets), model.n_layers, model.n_heads, dtype=torch.bool)
    for number, heads in enumerate(sets.values()):
        for head in heads:
            model.head(head.label)  # an error for a head that the model has not
            masks[number, head.layer, head.head] = True
    return masks
