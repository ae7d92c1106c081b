"""What heads take from each key, in one intact run: their attention, and the values there."""

from collections.abc import Collection
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from interp.encode import Batch
from interp.models.plain import Call, Plain, attend


@dataclass(frozen=True, eq=False, kw_only=True)
class Taking:
    """One layer's heads on the items of a batch, and on their counterfactuals.

    Attributes:
        own: attention of each item, at its query or at every position.
        donor: that of its counterfactual, at the same positions.
        value: of each key, as many as there are query heads.
        donor_value: those of the counterfactual.
    """

    own: Float[Tensor, "item head query key"]
    donor: Float[Tensor, "item head query key"]
    value: Float[Tensor, "item head key d_head"]
    donor_value: Float[Tensor, "item head key d_head"]

    def exchanged(
        self, keys: Float[Tensor, "item #head #query key"]
    ) -> Float[Tensor, "item query head d_head"]:
        """z with what comes from some keys as the counterfactual has it, the rest its own.

        Args:
            keys: 1 where a key's part is exchanged, else 0.
        """
        kept = _gathered(self.own * (1 - keys), self.value)
        return kept + _gathered(self.donor * keys, self.donor_value)


def taking(
    plain: Plain, batch: Batch, layers: Collection[int], *, everywhere: bool
) -> dict[int, Taking]:
    """What heads of some layers take on the items of a batch.

    Args:
        everywhere: at every position, and not at the query alone.
    """
    rows = torch.arange(len(batch))
    found: dict[int, Taking] = {}

    def keep(call: Call) -> Tensor:
        if call.layer not in layers:
            return attend(call)
        patterns: list[Tensor] = []

        def watch(name: str, tensor: Tensor) -> Tensor:
            if name == "pattern":
                patterns.append(tensor)
            return tensor

        z = attend(replace(call, options={**call.options, "hook": watch}))
        (pattern,) = patterns
        value = call.value.repeat_interleave(pattern.shape[1] // call.value.shape[1], dim=1)
        own, donor = pattern, pattern[batch.donor]
        if not everywhere:
            own, donor = (each[rows, :, batch.query][:, :, None] for each in (own, donor))
        found[call.layer] = Taking(
            own=own.cpu(),
            donor=donor.cpu(),
            value=value.cpu(),
            donor_value=value[batch.donor].cpu(),
        )
        return z

    with torch.inference_mode(), plain.attending(keep):
        plain.states(batch.ids.to(plain.module.device))
    return found


def _gathered(
    weights: Float[Tensor, "item head query key"], value: Float[Tensor, "item head key d_head"]
) -> Float[Tensor, "item query head d_head"]:
    return torch.einsum("ihqk,ihkd->iqhd", weights, value)
