"""Modules that share weights: a second set around the same, and the layers of ALBERT apart."""

import copy
import itertools
from typing import Any

from torch import nn


def twin(module: Any, *kept: Any) -> Any:
    """A copy of a model's modules around the very same parameters and buffers.

    Args:
        kept: further things that the copy holds itself, not a copy of them.
    """
    shared = itertools.chain(module.parameters(), module.buffers(), kept)
    return copy.deepcopy(module, memo={id(thing): thing for thing in shared})


def unshare_layers(model: Any) -> None:
    """Give each layer of an ALBERT modules of its own, around the weights that they share.

    One module that runs as every layer has no place for "this layer only": neither a hook on it
    nor a table of layers can tell them apart. The computation stays the same.
    """
    for module in list(model.modules()):
        if type(module).__name__ == "AlbertTransformer":
            config, groups = module.config, module.albert_layer_groups
            size = config.num_hidden_layers / config.num_hidden_groups
            module.albert_layer_groups = nn.ModuleList(
                twin(groups[int(layer / size)], config) for layer in range(config.num_hidden_layers)
            )
            config.num_hidden_groups = config.num_hidden_layers
