"""All heads of a layer given their mean pattern, or the pattern of another: what it costs."""

from dataclasses import replace

import pandas as pd
from jaxtyping import Int
from torch import Tensor

from analyses.primer.texts import next_token_losses
from interp.models import Model
from interp.models.plain import Attend, Call, attend


def sharing_mean(layer: int | None) -> Attend:
    """Attention in which all heads of a layer (of every layer if None) have their mean pattern."""

    def attending(call: Call) -> Tensor:
        if layer is not None and call.layer != layer:
            return attend(call)

        def hook(name: str, tensor: Tensor) -> Tensor:
            return tensor.mean(1, keepdim=True).expand_as(tensor) if name == "pattern" else tensor

        return attend(replace(call, options={**call.options, "hook": hook}))

    return attending


def exchanging(call: Call) -> Tensor:
    """Attention in which each head has the pattern of the next head of its layer."""

    def hook(name: str, tensor: Tensor) -> Tensor:
        return tensor.roll(1, dims=1) if name == "pattern" else tensor

    return attend(replace(call, options={**call.options, "hook": hook}))


def mean_patterns(model: Model, ids: Int[Tensor, "text pos"]) -> pd.DataFrame:
    """What the loss on each text rises by when a layer's heads share their mean pattern.

    One row a text and layer: `text, layer, rise` in nats; layer −1 is all layers at once, and −2
    all layers with patterns exchanged between heads.

    Raises:
        RuntimeError: an exchange changed no loss at all.
    """
    intact = next_token_losses(model, ids)
    arms: dict[int, Attend] = {-2: exchanging, -1: sharing_mean(None)}
    arms |= {layer: sharing_mean(layer) for layer in range(model.n_layers)}
    tables = []
    for layer, arm in arms.items():
        rise = next_token_losses(model, ids, arm) - intact
        if not rise.any():
            raise RuntimeError(
                f"patterns of layer {layer} were exchanged and no loss changed; the exchange did "
                "not reach the model."
            )
        tables.append(pd.DataFrame({"text": range(len(ids)), "layer": layer, "rise": rise}))
    return pd.concat(tables, ignore_index=True)
