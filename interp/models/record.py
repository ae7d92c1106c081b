"""One intact run of a batch, and what was asked for of it."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from interp.encode import Batch
from interp.models.axes import Arguments, recording
from interp.models.pattern_gradients import pattern_gradients
from interp.models.plain import Call, Plain, attend
from interp.models.stream import Stream, streams
from interp.models.template import HIDDEN

KEPT = ("arguments", "value", "z", "pattern")


@dataclass(frozen=True, kw_only=True)
class Record:
    """The intact run of a batch. Lists have one entry a layer, and none where it was not asked for.

    Attributes:
        plain: the model that was run.
        arguments: what the layer was called with.
        value: `[item, kv_head, pos, d_head]`.
        z: each head's output before the output projection, `[item, head, pos, d_head]`.
        pattern: each head's attention at the item's query, `[item, head, key]`.
        final: what the last block gives at the query.
        logits: at the query, as the model gives them; no column for a model without a vocabulary.
    """

    plain: Plain
    batch: Batch
    arguments: list[Arguments]
    value: list[Tensor]
    z: list[Tensor]
    pattern: list[Tensor]
    final: Float[Tensor, "item d_model"]
    logits: Float[Tensor, "item vocab"]

    @property
    def entering(self) -> list[Tensor]:
        """The residual stream as each layer takes it, `[item, pos, d_model]`."""
        return [each.leaves[HIDDEN] for each in self.arguments]

    @cached_property
    def streams(self) -> list[Stream]:
        """Where each layer's heads stand in the residual stream; found when first asked for."""
        return streams(self.plain)

    @cached_property
    def pattern_gradients(self) -> list[Tensor]:
        """See `interp.models.pattern_gradients`; computed when first asked for."""
        return pattern_gradients(self.plain, self.batch)


def record(plain: Plain, batch: Batch, *, keep: Collection[str] = KEPT) -> Record:
    """Run a batch intact and keep what is asked for; logits at the query always.

    Args:
        keep: of `"arguments"`, `"value"`, `"z"` and `"pattern"`.

    Raises:
        ValueError: nothing is of that name.
    """
    kept: dict[str, list[Any]] = {name: [] for name in KEPT}
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

    watched = plain.anatomy.layers if "arguments" in keep else ()
    with torch.inference_mode(), recording(watched) as arguments, plain.attending(keeping):
        final = plain.last_block(batch.ids)[rows, batch.query]
        has_logits = plain.anatomy.unembedding is not None
        logits = plain.readout(final, None).cpu() if has_logits else final[:, :0]
    kept["arguments"] = arguments
    return Record(plain=plain, batch=batch, final=final, logits=logits, **kept)
