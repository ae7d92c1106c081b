"""Does it matter where a head looks? Its effect when it looks evenly at all that it may see."""

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from interp.effects.given import Given
from interp.effects.metrics import LOGIT_DIFFERENCE, Metric
from interp.effects.scopes import Scope
from interp.encode import Batch
from interp.evidence.resampled import Resampled, resampled, together
from interp.heads import Head
from interp.hooks.edges import is_allowed
from interp.models.model import Model
from interp.models.plain import Call, attend

_EVEN = 1e-4


def uniform_pattern(
    model: Model,
    batches: Sequence[Batch],
    heads: Sequence[Head],
    metric: Metric = LOGIT_DIFFERENCE,
) -> pd.DataFrame:
    """What is kept of each head's effect at the query when its pattern there is made uniform.

    On item and counterfactual alike the head looks evenly at every key that its mask allows (with
    learned sinks: and there), the values live; then the one output is exchanged for the other. A
    head that keeps its effect does not owe it to where it looks: it is diffuse. One row a head:
    `layer`, `head`, `effect` (resample at the query) and `effect_uniform` (the same, both patterns
    uniform) as shares of the gap, and `kept`, their ratio, with its 95 % interval `low`, `high`;
    NaN where the effect itself is not told from 0.

    Raises:
        ValueError: there is no head, a pattern did not become uniform, or see `joint`.
    """
    parts = []
    for batch in batches:
        here, there = _uniform(model, batch, {head.layer for head in heads})
        row_of = {item.item_id: row for row, item in enumerate(batch.items)}
        parts.append(
            {
                "query": resampled(model, batch, heads, scope=Scope.QUERY, metric=metric),
                "own": resampled(
                    model, batch, heads, scope=Scope.QUERY, metric=metric,
                    baseline=Given(name="own, uniform", row_of=row_of, z=here),
                ),
                "given": resampled(
                    model, batch, heads, scope=Scope.QUERY, metric=metric,
                    baseline=Given(name="counterfactual, uniform", row_of=row_of, z=there),
                ),
            }
        )  # fmt: skip
    found: dict[str, Resampled] = {
        name: together([part[name] for part in parts]) for name in ("query", "own", "given")
    }
    effect = found["query"]
    uniform = replace(effect, effects=found["given"].effects - found["own"].effects)
    kept = uniform.relative_to(effect)
    return pd.DataFrame(
        {
            "layer": [head.layer for head in heads],
            "head": [head.head for head in heads],
            "effect": effect.share().estimate,
            "effect_uniform": uniform.share().estimate,
            "kept": kept["estimate"],
            "low": kept["low"],
            "high": kept["high"],
        }
    )


Outputs = dict[int, Float[Tensor, "item 1 head d_head"]]


def _uniform(model: Model, batch: Batch, layers: set[int]) -> tuple[Outputs, Outputs]:
    """By layer z at each item's query, and that of its counterfactual there, patterns uniform.

    What stands below a layer is intact: nothing is put back while the model runs.
    """
    rows = torch.arange(len(batch))
    own: Outputs = {}
    donor: Outputs = {}

    def keep(call: Call) -> Tensor:
        if call.layer in layers:
            evenly = attend(replace(call, options={**call.options, "hook": _Even(call.layer)}))
            own[call.layer] = evenly[rows, :, batch.query][:, None].cpu()
            donor[call.layer] = evenly[batch.donor, :, batch.query][:, None].cpu()
        return attend(call)

    with torch.inference_mode(), model.plain.attending(keep):
        model.plain.states(batch.ids.to(model.plain.module.device))
    return own, donor


class _Even:
    """A hook in the attention of one layer: all scores alike, and a look at what came of it."""

    def __init__(self, layer: int) -> None:
        self._layer, self._allowed = layer, torch.empty(0)

    def __call__(self, name: str, tensor: Tensor) -> Tensor:
        if name == "scores":
            self._allowed = is_allowed(tensor)
            return _levelled(tensor)
        if name == "pattern":
            largest = tensor.amax(-1)
            least = tensor.masked_fill(~self._allowed, torch.inf).amin(-1)
            has_keys = self._allowed.any(-1)
            uneven = float((largest - least)[has_keys].max())
            if uneven > _EVEN or float(tensor.masked_fill(self._allowed, 0).max()) > 0:
                raise ValueError(
                    f"the pattern of layer {self._layer} did not become uniform (weights are up to "
                    f"{uneven:.2g} apart), so the edit of its scores did not act; this model "
                    "cannot be asked whether its pattern matters."
                )
        return tensor


def _levelled(scores: Float[Tensor, "item head query key"]) -> Float[Tensor, "item head query key"]:
    return torch.where(is_allowed(scores), torch.zeros_like(scores), scores)
