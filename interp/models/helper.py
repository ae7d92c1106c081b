"""TransformerLens's own patching helper, as a yardstick."""

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd
import torch
from jaxtyping import Int
from torch import Tensor
from transformer_lens.patching import get_act_patch_attn_head_out_all_pos

from interp.heads import Head


def patched(
    bridge: Any,
    ids: Int[Tensor, "item pos"],
    cache: Any,
    heads: Sequence[Head],
    metric: Callable[[Tensor], Tensor],
) -> None:
    """Patch each head in turn, at all positions, as the helper does it.

    Args:
        cache: of the run that gives, with `hook_z` of the heads' layers.
        metric: of the whole output, one number.
    """
    index = pd.DataFrame([tuple(head) for head in heads], columns=["layer", "head"])
    with torch.inference_mode():
        get_act_patch_attn_head_out_all_pos(bridge, ids, cache, metric, index_df=index)
