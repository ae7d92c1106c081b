"""Whether two heads of a layer read and write in the same directions of the stream."""

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from interp.models import Model
from interp.models.head_maps import head_maps


def overlaps(
    spanning: Float[Tensor, "head d_model rank"],
) -> Float[Tensor, "head head_"]:
    """The mean squared cosine of the principal angles between every two column spaces, 0 to 1.

    1 for the same space, 0 for orthogonal ones; rank / d_model on average for random ones, whatever
    the bases.
    """
    bases = torch.linalg.qr(spanning.double())[0]
    products = torch.einsum("amr,bms->abrs", bases, bases)
    mean: Tensor = products.square().sum((-1, -2)) / bases.shape[-1]
    return mean


def subspaces(model: Model) -> pd.DataFrame:
    """How much two heads of a layer read and write in the same directions.

    One row a layer, two heads and side: `model, layer, side` (`query`, `key`, `value`, `output`),
    `kind` (`same key and value` where two query heads share a kv head, else `apart`), `overlap`,
    and `chance`, d_head / d_model. Keys and values are compared among kv heads.
    """
    rows = []
    for layer, maps in enumerate(head_maps(model.plain)):
        assert maps.query is not None
        assert maps.key is not None
        n_heads, n_kv_heads = len(maps.query), len(maps.key)
        sides = {
            "query": maps.query,
            "key": maps.key,
            "value": maps.value,
            "output": maps.stream.output.mT,
        }
        for side, columns in sides.items():
            group = n_heads // n_kv_heads if side in ("query", "output") else 1
            overlap, (d_model, rank) = overlaps(columns), columns.shape[1:]
            for first in range(len(columns)):
                for second in range(first):
                    is_shared = first // group == second // group
                    rows.append(
                        {
                            "model": model.name,
                            "layer": layer,
                            "side": side,
                            "kind": "same key and value" if is_shared else "apart",
                            "overlap": overlap[first, second].item(),
                            "chance": rank / d_model,
                        }
                    )
    return pd.DataFrame(rows)
