"""Every measure of a head on every item, a few items at a time."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from interp.effects.attribution import attributions
from interp.effects.baselines import Resample
from interp.effects.metrics import Metric
from interp.effects.repair import direct_effects
from interp.effects.scopes import Scope
from interp.encode import Batch
from interp.measures.catalogue import MEASURES
from interp.measures.controls import swapped
from interp.measures.measure import Measure
from interp.models.model import Model
from interp.models.record import Record, record
from interp.models.undefined import UndefinedError
from interp.shards import Result, Shards

ATTRIBUTION = "attribution"
DIRECT_EFFECT = "direct_effect"
OF_HEADS = tuple(measure for measure in MEASURES if not measure.of_layer)
OF_LAYERS = tuple(measure for measure in MEASURES if measure.of_layer)
TOKENS_AT_ONCE = 1024
_RESAMPLE = Resample()
_ARRAY = "of "


@dataclass(frozen=True, kw_only=True)
class Values:
    """Measures of heads on items.

    Attributes:
        item_ids: in the order of the rows of every array.
        arrays: by measure, and by tier where the measure asks where a head is removed.
        reasons: by measure, why the model has none.
    """

    item_ids: list[str]
    arrays: dict[tuple[str, str], Float[np.ndarray, "item head"]]
    reasons: dict[str, str]

    def of(self, measure: str, tier: str) -> Float[np.ndarray, "item head"] | None:
        """The values that stand for a measure at a tier; None where the model has none."""
        return self.arrays.get((measure, tier), self.arrays.get((measure, "")))


def catalogue_values(
    model: Model,
    batches: Sequence[Batch],
    measures: Sequence[Measure] = OF_HEADS,
    *,
    change: Callable[[Record], Record] = lambda recorded: recorded,
) -> Values:
    """The measures of the catalogue, those of a whole layer left out.

    Args:
        change: what is done to each recorded run first.
    """
    kept: dict[tuple[str, str], list[Tensor]] = {}
    reasons: dict[str, str] = {}
    item_ids: list[str] = []
    for few in few_at_once(batches):
        recorded = change(record(model.plain, few))
        item_ids += [item.item_id for item in few.items]
        for measure in measures:
            if measure.name in reasons:
                continue
            try:
                values = measure.of(recorded)
            except UndefinedError as error:
                reasons[measure.name] = str(error)
            else:
                kept.setdefault((measure.name, ""), []).append(values.flatten(1))
    return Values(item_ids=item_ids, arrays=_joined(kept, reasons), reasons=reasons)


def intervention_values(
    model: Model,
    batches: Sequence[Batch],
    tiers: Sequence[Scope],
    metric: Metric,
) -> Values:
    """Attribution patching at each tier, and what each head says itself to the logits.

    Both are of the resample by which effects are measured. What a head says itself is the same when
    it is removed everywhere and at the query, and another over the edge.
    """
    kept: dict[tuple[str, str], list[Tensor]] = {}
    reasons: dict[str, str] = {}
    item_ids: list[str] = []
    scopes = {"": Scope.QUERY}
    if Scope.EDGE in tiers:
        scopes[str(Scope.EDGE)] = Scope.EDGE
    for few in few_at_once(batches):
        item_ids += [item.item_id for item in few.items]
        try:
            found = attributions(model, few, tiers, _RESAMPLE, metric)
        except ValueError as error:  # of this metric or family there is no gradient
            reasons[ATTRIBUTION] = str(error)
        else:
            for tier, values in zip(tiers, found, strict=True):
                kept.setdefault((ATTRIBUTION, str(tier)), []).append(values.flatten(1))
        for name, scope in scopes.items():
            try:
                direct = _direct(model, few, scope)
            except UndefinedError as error:
                reasons[DIRECT_EFFECT] = str(error)
            else:
                kept.setdefault((DIRECT_EFFECT, name), []).append(direct)
    return Values(item_ids=item_ids, arrays=_joined(kept, reasons), reasons=reasons)


def few_at_once(batches: Sequence[Batch]) -> Iterator[Batch]:
    """Whole pairs, as many together as make about a thousand tokens."""
    for batch in batches:
        firsts = [row for row, donor in enumerate(batch.donor.tolist()) if row <= donor]
        n_pairs = max(1, TOKENS_AT_ONCE // (2 * batch.ids.shape[1]))
        for start in range(0, len(firsts), n_pairs):
            some = firsts[start : start + n_pairs]
            rows = sorted({*some, *batch.donor[some].tolist()})
            yield batch.reordered(torch.tensor(rows))


def exchanged(model: Model, batches: Sequence[Batch]) -> Values:
    """The measures of the catalogue with source and distractors exchanged."""
    return catalogue_values(model, batches, change=swapped)


def reordered(values: Values, item_ids: Sequence[str]) -> Values:
    """The rows in another order of the items, or of fewer of them."""
    place = {item_id: row for row, item_id in enumerate(values.item_ids)}
    rows = [place[item_id] for item_id in item_ids]
    arrays = {name: array[rows] for name, array in values.arrays.items()}
    return replace(values, item_ids=list(item_ids), arrays=arrays)


def kept(
    shards: Shards, name: str, model: Model, function: Callable[..., Values], *args: Any
) -> Values:
    """Values as a step of a run (see `Shards.step`)."""
    found = shards.step(name, model, _packed, function, *args)
    arrays = {}
    for packed_name, array in found.items():
        if packed_name.startswith(_ARRAY):
            measure, _, tier = packed_name.removeprefix(_ARRAY).partition(" ")
            arrays[measure, tier] = array
    return Values(item_ids=found["item_ids"], arrays=arrays, reasons=found["reasons"])


def _packed(model: Model, function: Callable[..., Values], *args: Any) -> Result:
    values = function(model, *args)
    arrays = {f"{_ARRAY}{measure} {tier}": a for (measure, tier), a in values.arrays.items()}
    return {"item_ids": values.item_ids, "reasons": values.reasons, **arrays}


def blocks(model: Model, batch: Batch) -> Int[np.ndarray, " head"]:
    """Numbers the sets of exchangeable heads: of one layer, and of one key and value if shared.

    Where every head has its own key and value, the heads of a layer.
    """
    value = record(model.plain, batch.first(1), keep=("value",)).value
    numbers: list[int] = []
    for layer in value:
        shared = model.n_heads // layer.shape[1]
        size = shared if shared > 1 else model.n_heads
        start = numbers[-1] + 1 if numbers else 0
        numbers += [start + head // size for head in range(model.n_heads)]
    return np.array(numbers)


def _direct(model: Model, batch: Batch, scope: Scope) -> Float[Tensor, "item head"]:
    table = direct_effects(model, [batch], scope=scope)
    grid = table.pivot(index="item_id", columns=["layer", "head"], values="direct")
    in_order = grid.loc[[item.item_id for item in batch.items]].sort_index(axis=1)
    return torch.tensor(in_order.to_numpy())


def _joined(
    kept: dict[tuple[str, str], list[Tensor]], reasons: dict[str, str]
) -> dict[tuple[str, str], Float[np.ndarray, "item head"]]:
    """All items of the measures that the model has."""
    return {
        (name, tier): torch.cat(parts).double().cpu().numpy()
        for (name, tier), parts in kept.items()
        if name not in reasons
    }
