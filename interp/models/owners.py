"""Who answers the attention of a module: the `Plain` that owns its model, and nobody for a copy."""

import weakref
from typing import Any, Protocol, runtime_checkable

from torch import Tensor, nn

from interp.models.registry import register

NAME = "interp"


@runtime_checkable
class Owner(Protocol):
    """What runs a model with our attention inside."""

    def answer(
        self, module: nn.Module, query: Tensor, key: Tensor, value: Tensor, options: dict[str, Any]
    ) -> Tensor:
        """z of one module's attention, heads before positions."""


_OWNER_OF: "weakref.WeakKeyDictionary[nn.Module, weakref.ref[Owner]]" = weakref.WeakKeyDictionary()


def own(owner: Owner, model: nn.Module) -> None:
    """Let `owner` answer the attention of every module of a model."""
    for module in model.modules():
        _OWNER_OF[module] = weakref.ref(owner)


def owner_of(module: nn.Module) -> Owner | None:
    """Who answers a module's attention; None for the modules of a copy."""
    owner = _OWNER_OF.get(module)
    return None if owner is None else owner()


def _ask_owner(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, options: dict[str, Any]
) -> Tensor:
    owner = owner_of(module)
    if owner is None:
        raise RuntimeError(
            f"nobody answers for {type(module).__name__}: its model was copied, or its `Plain` "
            'is gone; keep the `Plain`, or call set_attn_implementation("eager") on the copy.'
        )
    return owner.answer(module, query, key, value, options)


register(NAME, _ask_owner)
