"""From kernels, `[item, layer, head]`, to tables with one row an observation."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from jaxtyping import Float
from torch import Tensor

SCORE_COLUMNS = ["measure", "layer", "head", "item_id", "value", "valid"]


def score_table(
    measure: str, values: Float[Tensor, "item layer head"], item_ids: Sequence[str]
) -> pd.DataFrame:
    """The values of one measure as rows; `valid` is False where a value is undefined (NaN)."""
    n_layers, n_heads = values.shape[1:]
    item, layer, head = np.meshgrid(
        np.asarray(item_ids, dtype=object), np.arange(n_layers), np.arange(n_heads), indexing="ij"
    )
    flat = values.float().numpy().ravel()
    return pd.DataFrame(
        {
            "measure": measure,
            "layer": layer.ravel(),
            "head": head.ravel(),
            "item_id": item.ravel().astype(str),
            "value": flat,
            "valid": ~np.isnan(flat),
        }
    )[SCORE_COLUMNS]
