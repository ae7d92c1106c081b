"""Why a head that attends does nothing: what it writes from the source, and who reads it."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from interp.contrast.thresholds import Thresholds
from interp.effects.scopes import Scope, edge_keys
from interp.encode import Batch
from interp.heads import Head
from interp.models.direct import head_outputs
from interp.models.model import Model
from interp.models.plain import Call, attend

NOTHING, CONSTANT, UNREAD = "writes nothing", "constant writer", "unread direction"
_LEAST = 0.05


def idle_subtype(
    model: Model,
    batches: Sequence[Batch],
    heads: Sequence[Head],
    *,
    direct: "pd.Series[float]",
    thresholds: Thresholds,
) -> pd.DataFrame:
    """What heads that attend and do nothing write at the query.

    One row a head: `layer`, `head`, and means over items: `written`, the length of what it brings
    from the keys of the edge, `‖Σ_src A v W_O‖`; `relative`, the same by what a head of this model
    writes at the query on average; `moved`, how far its output there is from that on the
    counterfactual, by the mean length of the two (0 to 2); `direct`, what it says to the logits
    itself against the counterfactual (share of the gap). `subtype` is the first that fits:
    `"writes nothing"` (`relative` below .05), `"constant writer"` (`moved` below .05), `"unread
    direction"` (`direct` within `thresholds.nothing` of 0), else empty: it says something.

    Args:
        direct: by layer and head, the mean direct effect as a share of the gap (see `estimates`).

    Raises:
        UndefinedError: heads do not add up to the logits in this model.
        ValueError: there is no head, or an item names no source.
    """
    if not heads:
        raise ValueError("expected at least one head that would be called idle, got none.")
    lengths = [_lengths(model, batch) for batch in batches]
    written, whole, apart = (np.concatenate(each).mean(0) for each in zip(*lengths, strict=True))
    table = pd.DataFrame(
        {
            "layer": [head.layer for head in heads],
            "head": [head.head for head in heads],
            "written": [written[head] for head in heads],
            "relative": [written[head] / whole.mean() for head in heads],
            "moved": [_ratio(apart[head], whole[head]) for head in heads],
            "direct": [direct[tuple(head)] for head in heads],
        }
    )
    cases = [
        (table["relative"] < _LEAST, NOTHING),
        (table["moved"] < _LEAST, CONSTANT),
        (table["direct"].abs() <= thresholds.nothing, UNREAD),
    ]
    conditions, labels = zip(*cases, strict=True)
    return table.assign(subtype=np.select(conditions, labels, ""))


Lengths = Float[np.ndarray, "item layer head"]


def _lengths(model: Model, batch: Batch) -> tuple[Lengths, Lengths, Lengths]:
    """Of what heads write at the query: from the source; in all; less the counterfactual's.

    The second is the mean of an item and its counterfactual.
    """
    rows = torch.arange(len(batch))
    source = edge_keys(Scope.EDGE, batch)
    both: list[Tensor] = []

    def keep(call: Call) -> Tensor:
        def only(name: str, tensor: Tensor) -> Tensor:
            return tensor * source[:, None, None].to(tensor) if name == "pattern" else tensor

        from_source = attend(replace(call, options={**call.options, "hook": only}))
        z = attend(call)
        both.append(torch.cat([part[rows, :, batch.query] for part in (from_source, z)]))
        return z

    with torch.inference_mode(), model.plain.attending(keep):
        model.plain.states(batch.ids.to(model.plain.module.device))
        written, own = torch.split(head_outputs(model, both), len(batch))
        other = own[batch.donor]
        lengths = (part.norm(dim=-1) for part in (written, own, other, own - other))
        of_source, of_own, of_other, of_change = (part.cpu().double().numpy() for part in lengths)
    return of_source, (of_own + of_other) / 2, of_change


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0
