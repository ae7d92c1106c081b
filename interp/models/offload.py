"""Weights that lie on another device or on disk: read once for all that a layer is asked."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import nn


class Residence:
    """The layer whose offloaded weights are where it computes, until another is asked for.

    accelerate brings the weights of a module for each call and lets them go after it. A sweep calls
    a layer many times in a row, once for every batch of variants, and would read them every time.
    """

    def __init__(self) -> None:
        self._layer: nn.Module | None = None
        self._held: list[tuple[nn.Module, Any]] = []

    def hold(self, layer: nn.Module) -> None:
        """Bring a layer's weights, if they are elsewhere, and let go of those that were held."""
        if layer is self._layer:
            return
        self.release()
        self._layer, self._held = layer, list(_offloaded(layer))
        with torch.inference_mode(False):  # gradients may be asked for while they are held
            for module, hook in self._held:
                hook.pre_forward(module)
                hook.offload = False

    def release(self) -> None:
        """Let go of the weights that are held."""
        for module, hook in self._held:
            hook.offload = True
            hook.post_forward(module, None)
        self._layer, self._held = None, []


def is_offloaded(module: nn.Module) -> bool:
    """Whether some of a model's weights are elsewhere until they are needed."""
    return any(parameter.is_meta for parameter in module.parameters())


def _offloaded(layer: nn.Module) -> Iterator[tuple[nn.Module, Any]]:
    """The modules of a layer whose weights accelerate keeps elsewhere, each with its hook."""
    for module in layer.modules():
        first = getattr(module, "_hf_hook", None)
        for hook in getattr(first, "hooks", (first,)):
            if getattr(hook, "offload", False):
                yield module, hook
