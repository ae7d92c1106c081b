"""How many keys a head uses, with its sink and without."""

import pandas as pd
import torch
from jaxtyping import Int
from torch import Tensor

from interp.heads import Head
from interp.measures.battery import read_patterns
from interp.measures.spread import n_effective
from interp.models import Model


def keys_in_use(model: Model, ids: Int[Tensor, "text pos"]) -> pd.DataFrame:
    """The effective number of keys, exp H, of each head on each text, median over rows.

    One row a head and text: `all` keys counted, `alone` without the first token and other specials
    (of what is left, where at least .01 is), and `sink`, what goes to these. Rows of the second
    half of a text, so that there is a choice.
    """
    special = torch.zeros(ids.shape[1], dtype=torch.bool)
    special[: max(1, len(model.prefix.before))] = True
    if model.prefix.after:
        special[-len(model.prefix.after) :] = True
    rows_at = torch.arange(ids.shape[1] // 2, ids.shape[1])
    rows_at = rows_at[~special[rows_at]]
    found: list[dict[str, object]] = []

    def read(layer: int, pattern: Tensor) -> None:
        rows = pattern[:, :, rows_at]
        sink = rows[..., special].sum(-1)
        rest = rows.masked_fill(special, 0.0) / (1 - sink).clamp(min=1e-6)[..., None]
        alone = torch.where(sink < 0.99, n_effective(rest), torch.nan)
        for name, values in (("all", n_effective(rows)), ("alone", alone), ("sink", sink)):
            for text, of_text in enumerate(values.nanmedian(-1).values):
                for head, value in enumerate(of_text):
                    found.append(
                        {
                            "layer": layer,
                            "head": head,
                            "text": text,
                            "name": name,
                            "value": value.item(),
                        }
                    )

    read_patterns(model.plain, ids, read)
    wide = pd.DataFrame(found).pivot(
        index=["layer", "head", "text"], columns="name", values="value"
    )
    table = wide.reset_index()
    labels = [Head(*pair).label for pair in zip(table["layer"], table["head"], strict=True)]
    return table.assign(model=model.name, label=labels)
