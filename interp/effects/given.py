"""Outputs made elsewhere, put in the place of a head's own."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from interp.effects.baselines import Zero
from interp.items import Item
from interp.models.walk import Layer


@dataclass(frozen=True, eq=False, kw_only=True)
class Given:
    """What each head is to give on each item, such as z with a part of it exchanged.

    Attributes:
        name: as it stands in tables.
        row_of: each item's place in `z`, by its id.
        z: by layer, at all positions, or at a single one for scopes of a single position.
    """

    name: str
    row_of: dict[str, int]
    z: dict[int, Float[Tensor, "item pos head d_head"]]

    donors = Zero.donors

    def labels(
        self,
        items: Sequence[Item],
        ids: Int[Tensor, "item pos"],
        donor_nodes: Int[Tensor, "item pos"],
    ) -> Int[Tensor, "item pos"]:
        """The item's row at each position."""
        n_given = next(iter(self.z.values())).shape[1]
        first = torch.tensor([self.row_of[item.item_id] for item in items])[:, None] * n_given
        places = torch.arange(ids.shape[1]) if n_given > 1 else torch.zeros(ids.shape[1]).long()
        return first + places

    def table(self, layer: Layer) -> Float[Tensor, "label head d_head"]:
        """The layer's outputs.

        Raises:
            ValueError: none were given for this layer.
        """
        if layer.index not in self.z:
            raise ValueError(
                f"{self.name!r} has outputs for layers {sorted(self.z)}, and a head of layer "
                f"{layer.index} is removed; give its layer's too."
            )
        return self.z[layer.index].flatten(0, 1).to(layer.z)
