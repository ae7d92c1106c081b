"""One intact run of a batch, and what was asked for of it."""

from collections.abc import Collection
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from interp.encode import Batch
from interp.models.plain import Call, Plain, attend


@dataclass(frozen=True, kw_only=True)
class Record:
    """The intact run of a batch. Lists have one entry a layer, and none where it was not asked for.

    Attributes:
        value: `[item, kv_head, pos, d_head]`.
        z: each head's output before the output projection, `[item, head, pos, d_head]`.
        pattern: each head's attention at the item's query, `[item, head, key]`.
        logits: at the query, as the model gives them.
    """

    batch: Batch
    value: list[Tensor]
    z: list[Tensor]
    pattern: list[Tensor]
    logits: Float[Tensor, "item vocab"]


def record(plain: Plain, batch: Batch, *, keep: Collection[str] = ("pattern",)) -> Record:
    """Run a batch intact and keep what is asked for; logits at the query always.

    Args:
        keep: of `"z"`, `"value"` and `"pattern"`.

    Raises:
        ValueError: the model has no head, so there are no logits, or nothing is of that name.
    """
    kept: dict[str, list[Tensor]] = {"z": [], "value": [], "pattern": []}
    unknown = sorted(set(keep) - set(kept))
    if unknown:
        raise ValueError(f"a record keeps {', '.join(kept)}, got {', '.join(unknown)}.")
    rows = torch.arange(len(batch))

    def keeping(call: Call) -> Tensor:
        def at_query(name: str, tensor: Tensor) -> Tensor:
            if name == "pattern" and "pattern" in keep:
                kept["pattern"].append(tensor[rows, :, batch.query].clone())
            return tensor

        z = attend(replace(call, options={**call.options, "hook": at_query}))
        if "z" in keep:
            kept["z"].append(z)
        if "value" in keep:
            kept["value"].append(call.value)
        return z

    with torch.inference_mode(), plain.attending(keeping):
        final = plain.last_block(batch.ids)
        logits = plain.readout(final[rows, batch.query], None).cpu()
    return Record(batch=batch, logits=logits, **kept)
