"""What TransformerLens alone does with an edit, family by family: beside parity, not part of it."""

import warnings
from collections.abc import Callable
from tempfile import TemporaryDirectory
from typing import Any

import torch

from interp.models.families import VOCABULARY, output_of, small_ids
from interp.models.shapes import word_an_id

BESIDE_COLUMNS = ["tl_boots", "tl_output", "tl_pattern_acts", "tl_scores_act", "tl_says"]


def beside(fresh: Callable[[], Any], *, name: str) -> dict[str, Any]:
    """Whether the bridge boots a fresh model, and whether edits of a head move its output.

    `tl_output` is how far its intact output is from the model's own, a share of the largest
    logit; `tl_says` its error, or its warnings.
    """
    row: dict[str, Any] = dict.fromkeys(BESIDE_COLUMNS)
    row["tl_boots"] = False
    with warnings.catch_warnings(record=True) as caught, TemporaryDirectory() as folder:
        warnings.simplefilter("always")
        try:
            _try(fresh, name, word_an_id(VOCABULARY, folder), row)
        except Exception as error:  # whatever the bridge fails with is what is recorded
            row["tl_says"] = f"{type(error).__name__}: {error}"[:200]
        else:
            said = {str(each.message) for each in caught if each.category is UserWarning}
            row["tl_says"] = " ".join(sorted(said))[:200]
    return row


def _try(fresh: Callable[[], Any], name: str, tokenizer: Any, row: dict[str, Any]) -> None:
    from transformer_lens.model_bridge import TransformerBridge

    ids = small_ids(2)
    with torch.inference_mode():
        own = output_of(fresh()(input_ids=ids, use_cache=False))
        bridge = TransformerBridge.boot_transformers(
            name, hf_model=fresh(), tokenizer=tokenizer
        ).eval()
        intact = bridge(ids)
        row["tl_boots"] = True
        row["tl_output"] = ((intact - own).abs().max() / own.abs().max()).item()
        for column, point in (("tl_pattern_acts", "pattern"), ("tl_scores_act", "attn_scores")):
            hook = (f"blocks.1.attn.hook_{point}", _halve_a_head)
            moved = bridge.run_with_hooks(ids, fwd_hooks=[hook]) - intact
            row[column] = bool(moved.abs().max() > 1e-3 * own.abs().max())


def _halve_a_head(value: torch.Tensor, hook: Any) -> torch.Tensor:
    head = torch.arange(value.shape[1])[:, None, None] == 1
    return torch.where(head, value * 0.5, value)
