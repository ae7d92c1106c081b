"""TransformerLens's own patching helper, as a yardstick."""

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd
import torch
from jaxtyping import Int
from torch import Tensor
from transformer_lens.patching import generic_activation_patch, layer_head_vector_patch_setter

from interp.heads import Head


def patched(
    bridge: Any,
    ids: Int[Tensor, "item pos"],
    cache: Any,
    heads: Sequence[Head],
    metric: Callable[[Tensor], Tensor],
) -> None:
    """Patch each head in turn, at all positions, as `get_act_patch_attn_head_out_all_pos` does.

    Args:
        cache: of the run that gives, with `hook_z` of the heads' layers.
        metric: of the whole output, one number.
    """
    index = pd.DataFrame([tuple(head) for head in heads], columns=["layer", "head"])
    with torch.inference_mode():
        generic_activation_patch(
            bridge, ids, cache, metric, layer_head_vector_patch_setter, "z", index_df=index
        )
