"""All the evidence that the verdicts of a run ask for, each on the heads of which it is asked."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from interp.contrast import Observations, Thresholds, attending, estimates, mattering, selectivity
from interp.effects.metrics import LOGIT_DIFFERENCE, Metric
from interp.effects.scopes import Scope
from interp.encode import Batch, with_few_tokens
from interp.evidence.folds import Fold, mean_folds
from interp.evidence.idle import idle_together
from interp.evidence.idle_subtype import idle_subtype
from interp.evidence.neutral import neutral_text
from interp.evidence.pattern_change import pattern_change
from interp.evidence.redundancy import redundancy
from interp.evidence.sources import where_from
from interp.evidence.specificity import specificity
from interp.evidence.uniform import uniform_pattern
from interp.heads import Head
from interp.models.model import Model
from interp.models.undefined import UndefinedError
from interp.progress import Progress, silent
from interp.shards import Shards

MOST_HEADS = 20
"""How many heads of a kind are looked into, unless told otherwise."""
DIFFUSE = 0.8
"""The share of its effect that a head keeps under an even pattern, from which on it is diffuse."""
TURNED = 0.1
"""By how much the attention of a later head has to change, for the head to be its modifier."""

MOST_PAIRED, MOST_TOKENS = 10, 2600
"""Backups are looked for among so many heads of a kind, each with each, on so many tokens."""

N_TEXTS, N_TOKENS = 16, 48
"""Neutral texts, and the tokens of each."""

_MOST = 0.5


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What was found.

    Attributes:
        heads: one row a head that was looked into: `layer`, `head` and the columns of
            `interp.contrast.EVIDENCE`.
        tables: what they come from, by name; only those that have rows.
    """

    heads: pd.DataFrame
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)

    @classmethod
    def none(cls) -> "Evidence":
        """Of no head."""
        return cls(heads=_none())


def gathered(
    model: Model,
    batches: Sequence[Batch],
    data: Observations,
    thresholds: Thresholds,
    *,
    seed: int,
    chance: float,
    metric: Metric = LOGIT_DIFFERENCE,
    n_heads: int = MOST_HEADS,
    shards: Shards | None = None,
    progress: Progress = silent,
) -> Evidence:
    """What single removals cannot show of the heads that attend or matter.

    - Heads that attend and seem to do nothing: removed together, and by layer; what they write.
    - Heads that attend and have a small effect: their backups, and what they do without these.
    - Heads that matter: whether they hurt neutral text too.
    - Heads that matter and do not attend, or over another edge: where their effect comes from.

    On items that name no source there is nothing to ask.

    Args:
        n_heads: of all kinds but the first, how many are looked into: those that stand highest by
            attention, or have the largest effect. Of the first it is all.
        shards: where each piece of evidence is kept; nowhere when None.

    Raises:
        ValueError: see the functions that measure.
    """
    shards = shards or Shards()
    table = estimates(data, thresholds, seed=seed, chance=chance)
    measure = selectivity(table)
    if measure is None:
        return Evidence.none()
    widest = Scope.EVERYWHERE if "everywhere" in data.effects else Scope.QUERY
    folds = mean_folds(model, batches)
    attentive, causal = attending(table), mattering(table)
    quiet = attentive[~attentive.index.isin(causal.index)]
    seem_idle = attentive[attentive["nothing_q"] < thresholds.alpha]
    size = causal[[f"effect_{tier}" for tier in data.effects]].abs().max(axis=1)
    largest = causal.loc[size.sort_values(ascending=False).index[:n_heads]]

    with progress("evidence", 4) as advance:
        together = _together(model, folds, seem_idle, widest, thresholds, metric, shards)
        advance(1)
        n_paired = min(n_heads, MOST_PAIRED)
        asked, among = (heads.nlargest(n_paired, measure) for heads in (quiet, attentive))
        backups = shards.table(
            "redundancy", model, _backups, batches, asked, among, widest, thresholds, metric
        )
        advance(1)
        elsewhere = shards.table("specificity", model, _on_neutral_text, largest, seed=seed)
        advance(1)
        general = _general(elsewhere, thresholds)
        origins = _origins(
            model, batches, largest, table, widest, general, thresholds, metric, shards, seed=seed
        )
        advance(1)
    tables = {
        "idle_together": together.sets, "redundancy": backups, "specificity": elsewhere,
        "origins": origins,
    }  # fmt: skip
    writes = shards.table("writes", model, _writes, batches, seem_idle, thresholds)
    columns = ["layer", "head", "backups", "conditional", "conditional_p"]
    renamed = backups.rename(columns={"p": "conditional_p"}).reindex(columns=columns)
    subtypes = pd.concat([writes, origins.reindex(columns=["layer", "head", "subtype"])])
    heads = _none()
    neutral = elsewhere.rename(columns={"effect": "neutral"}).reindex(
        columns=["layer", "head", "neutral"]
    )
    for part in (together.heads, renamed, neutral, subtypes.drop_duplicates(["layer", "head"])):
        if len(part):
            heads = heads.merge(part, on=["layer", "head"], how="outer")
    return Evidence(heads=heads, tables={name: each for name, each in tables.items() if len(each)})


@dataclass(frozen=True)
class _Together:
    sets: pd.DataFrame
    heads: pd.DataFrame


def _none() -> pd.DataFrame:
    return pd.DataFrame({"layer": pd.Series(dtype=int), "head": pd.Series(dtype=int)})


def _heads(table: pd.DataFrame) -> list[Head]:
    return [Head(layer, head) for layer, head in zip(table["layer"], table["head"], strict=True)]


def _together(
    model: Model,
    folds: Sequence[Fold],
    seem_idle: pd.DataFrame,
    scope: Scope,
    thresholds: Thresholds,
    metric: Metric,
    shards: Shards,
) -> _Together:
    """A head's `idle_together` is 1 where both all of them and those of its layer do nothing."""
    if seem_idle.empty:
        return _Together(_none(), _none())
    idle = _heads(seem_idle)
    sets = shards.table(
        "idle_together",
        model,
        idle_together,
        folds,
        idle,
        scope=scope,
        thresholds=thresholds,
        metric=metric,
    )
    holds = sets.set_index("set")["holds"]
    of_layer = [holds["total"] and holds[f"layer {layer}"] for layer in seem_idle["layer"]]
    heads = seem_idle[["layer", "head"]].assign(idle_together=np.array(of_layer, dtype=float))
    return _Together(sets, heads)


def _backups(
    model: Model,
    batches: Sequence[Batch],
    asked: pd.DataFrame,
    among: pd.DataFrame,
    scope: Scope,
    thresholds: Thresholds,
    metric: Metric,
) -> pd.DataFrame:
    if asked.empty:
        return _none()
    folds = mean_folds(model, with_few_tokens(batches, MOST_TOKENS, a_template=4))
    return redundancy(
        model, folds, _heads(asked), among=_heads(among), scope=scope, thresholds=thresholds,
        metric=metric,
    )  # fmt: skip


def _writes(
    model: Model, batches: Sequence[Batch], seem_idle: pd.DataFrame, thresholds: Thresholds
) -> pd.DataFrame:
    if seem_idle.empty:
        return _none()
    try:
        direct = seem_idle.set_index(["layer", "head"])["direct"]
        found = idle_subtype(
            model, batches, _heads(seem_idle), direct=direct, thresholds=thresholds
        )
    except UndefinedError:
        return _none()
    return found[["layer", "head", "subtype"]]


def _on_neutral_text(model: Model, heads: pd.DataFrame, *, seed: int) -> pd.DataFrame:
    if heads.empty or model.plain.anatomy.unembedding is None or not model.is_causal:
        return _none()
    try:
        text = neutral_text(model, n_texts=N_TEXTS, n_tokens=N_TOKENS, seed=seed)
        return specificity(model, _heads(heads), text=text, controls={})
    except UndefinedError:
        return _none()


def _general(elsewhere: pd.DataFrame, thresholds: Thresholds) -> set[Head]:
    """Heads whose removal hurts neutral text as much as counts on the items."""
    if elsewhere.empty:
        return set()
    hurts = (elsewhere["effect"] >= thresholds.matters) & (elsewhere["low"] > 0)
    return set(_heads(elsewhere[hurts]))


def _origins(
    model: Model,
    batches: Sequence[Batch],
    heads: pd.DataFrame,
    table: pd.DataFrame,
    scope: Scope,
    general: set[Head],
    thresholds: Thresholds,
    metric: Metric,
    shards: Shards,
    *,
    seed: int,
) -> pd.DataFrame:
    """For heads that matter: where their effect comes from, and what that makes them."""
    elsewhere = heads[~heads["attends"] | (heads["nothing_edge_p"] < thresholds.alpha)]
    if elsewhere.empty:
        return _none()
    asked = _heads(elsewhere)
    whole = scope is Scope.EVERYWHERE
    parts = shards.table(
        "parts", model, where_from, batches, asked, everywhere=whole, metric=metric
    )
    effects = parts.pivot(index=["layer", "head"], columns="part", values="effect")
    evenly = shards.table("evenly", model, uniform_pattern, batches, asked, metric)
    kept = evenly.set_index(["layer", "head"])["kept"]
    changed = shards.table(
        "changed", model, pattern_change, batches, asked, scope=scope, seed=seed
    ).set_index(["layer", "head"])[["of", "change", "p"]]
    found = effects.assign(kept_uniform=kept).join(changed.add_prefix("changed_"))
    attends = table.set_index(["layer", "head"])["attends"]
    found["subtype"] = [
        _subtype(row, bool(attends[key]), Head(*key) in general, thresholds)
        for key, row in zip(found.index, found.to_dict("records"), strict=True)
    ]
    return found.reset_index()


def _subtype(row: dict[str, float], attends: bool, is_general: bool, thresholds: Thresholds) -> str:
    """How a head comes by an effect that is not over the edge it attends to, if it attends."""
    whole, at_query = row.get("everywhere", np.nan), row["query"]
    is_at_query = abs(at_query) >= thresholds.matters
    from_other = row["other"] / at_query if is_at_query else 0.0
    acts_elsewhere = not is_at_query and abs(whole) >= thresholds.matters
    carried = row["source, anywhere"] / whole if acts_elsewhere else 0.0
    turns = abs(row["changed_change"]) >= TURNED and row["changed_p"] < thresholds.alpha
    if attends:
        of_distractor = is_at_query and row["distractor"] / at_query >= _MOST
        kinds = [(not is_at_query, "other position"), (of_distractor, "other source")]
        return _first(kinds, "other key")
    return _first(
        [
            (is_at_query and row["kept_uniform"] >= DIFFUSE, "diffuse"),
            (turns, f"modifies {row['changed_of']}"),
            (max(from_other, carried) >= _MOST, "relay"),
            (is_general, "general"),
            (not is_at_query, "upstream"),
        ],
        "",
    )


def _first(kinds: Sequence[tuple[bool, str]], otherwise: str) -> str:
    return next((name for is_so, name in kinds if is_so), otherwise)
