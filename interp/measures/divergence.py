"""How unlike two heads attend: the Jensen–Shannon divergence between their patterns."""

import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor

from interp.heads import all_heads
from interp.measures.battery import read_patterns
from interp.measures.spread import entropy
from interp.models.plain import Plain

SMOOTHING = 1e-3


def head_distances(plain: Plain, ids: Int[Tensor, "item pos"]) -> pd.DataFrame:
    """The divergence between each two heads, in nats, 0 to log 2: a square table by label.

    Patterns are mixed with .1 % of even attention, so that no logarithm is infinite; the mean is
    over rows and items. Items are run one by one, so that one item's patterns are all that is kept.

    Source: Clark et al. 2019, arXiv:1906.04341.
    """
    total: Tensor | None = None
    for item in ids:
        patterns: list[Tensor] = []

        def read(layer: int, pattern: Tensor, into: list[Tensor] = patterns) -> None:
            into.append(pattern[0])

        read_patterns(plain, item[None], read)
        found = divergences(torch.cat(patterns))
        total = found if total is None else total + found
    assert total is not None
    n_layers = len(plain.anatomy.layers)
    labels = [head.label for head in all_heads(n_layers, len(total) // n_layers)]
    return pd.DataFrame((total / len(ids)).double().numpy(), index=labels, columns=labels)


def divergences(
    patterns: Float[Tensor, "head query key"],
) -> Float[Tensor, "head head_"]:
    """`H(½ P + ½ Q) − ½ H(P) − ½ H(Q)` of each two heads, the mean over rows."""
    smooth = (1 - SMOOTHING) * patterns + SMOOTHING / patterns.shape[-1]
    alone = entropy(smooth[None])[0]
    rows = []
    for head in range(len(smooth)):
        together = entropy(0.5 * (smooth[head] + smooth)[None])[0]
        rows.append((together - 0.5 * (alone[head] + alone)).mean(-1))
    return torch.stack(rows).clamp(min=0)
