"""Nothing silently does nothing: checks for hooked runs.

They work on any TransformerLens bridge. `model.bridge` applies the checks by itself.
"""

import re
import warnings
import weakref
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any, TypeAlias

import torch
from jaxtyping import Int
from torch import Tensor

from interp.heads import nearest_name

Hooks: TypeAlias = Sequence[tuple[Any, Callable[..., Any]]]
"""Pairs of a hook name, or a function of names, and a hook."""


def run(bridge: Any, ids: Int[Tensor, "batch pos"], fwd_hooks: Hooks, **options: Any) -> Any:
    """`bridge.run_with_hooks`, or an error where that would do less than it says.

    The first time that a kind of hook point is used on a bridge, an edit of our own is tried
    there on the same prompts; hooks that only read belong into `run_with_cache`. Options are the
    model's further inputs, such as `attention_mask`.

    Raises:
        ValueError: a name or filter matches no hook point, a hook never fired or returned another
            shape, or edits of this kind of point do not reach the output.
    """
    for name in check_names(bridge, [name for name, _ in fwd_hooks]):
        if _kind(name) not in _ACTING.setdefault(bridge, set()) and edit_acts(
            bridge, ids, name, **options
        ):
            _ACTING[bridge].add(_kind(name))
    watch = Watch(fwd_hooks)
    output = bridge.run_with_hooks(ids, fwd_hooks=watch.pairs, **options)
    watch.check_fired()
    return output


class Watch:
    """Hooks that notice whether they are called, and refuse a result of another shape.

    Attributes:
        pairs: the hooks to attach in place of those given.
    """

    def __init__(self, hooks: Hooks) -> None:
        self._silent = {number: name for number, (name, _) in enumerate(hooks)}
        self.pairs = [
            (name, self._watched(number, hook)) for number, (name, hook) in enumerate(hooks)
        ]

    def check_fired(self) -> None:
        """Raise a ValueError that names the hooks that were not called."""
        if self._silent:
            names = ", ".join(getattr(name, "__name__", name) for name in self._silent.values())
            raise ValueError(
                f"the hooks at {names} never fired, so they changed nothing; this model does not "
                "pass there, or the block was left before it ran."
            )

    def _watched(self, number: int, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def watched(tensor: Any, hook: Any) -> Any:
            self._silent.pop(number, None)
            edited = function(tensor, hook=hook)
            if isinstance(edited, Tensor) and isinstance(tensor, Tensor):
                _check_form(edited, tensor, hook)
            return edited

        return watched


def check_names(bridge: Any, names: Iterable[Any]) -> list[str]:
    """The hook points of `bridge` that names and filters stand for.

    Raises:
        ValueError: one matches nothing; a misspelt name is answered with the nearest.
    """
    known = bridge.hook_dict
    found: list[str] = []
    for name in names:
        if isinstance(name, str) and name not in known:
            raise ValueError(f"this model has no hook point {name!r}; {_hint(bridge, name)}")
        matches = [name] if isinstance(name, str) else [point for point in known if name(point)]
        if not matches:
            raise ValueError(
                f"the filter {getattr(name, '__name__', name)} matches none of the "
                f"{len(known)} hook points; see bridge.hook_dict."
            )
        found.extend(matches)
    return found


def attached_hooks(bridge: Any) -> list[str]:
    """The hook points of a bridge to which something is attached: an intact run is not intact.

    Permanent hooks are not counted: TransformerLens attaches some of its own.
    """
    points = bridge.hook_dict.values()
    return sorted({point.name for point in points if point.has_hooks(including_permanent=False)})


def edit_acts(bridge: Any, ids: Int[Tensor, "batch pos"], name: str, **options: Any) -> bool:
    """Whether an edit at a hook point moves the output; False when these prompts cannot show it.

    The tensor found there is turned round along its last axis. It shows nothing if that leaves it
    as it is, or if the layer's output projection is zero.

    Raises:
        ValueError: the tensor was edited, and the output is the same to the last bit.
    """
    is_changed = False

    def turned_round(tensor: Any, hook: Any) -> Any:
        nonlocal is_changed
        if not isinstance(tensor, Tensor):
            return tensor
        edited = tensor.flip(-1)
        is_changed |= not torch.equal(edited, tensor)
        return edited

    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that the edit is discarded: we say so
        intact = bridge(ids, **options)
        edited = bridge.run_with_hooks(ids, fwd_hooks=[(name, turned_round)], **options)
    if not torch.equal(intact, edited):
        return True
    if not is_changed or _writes_nothing(bridge, name):
        return False
    raise ValueError(
        f"an edit of {name} fires and does not reach the output of this model, which has used the "
        "value before the hook sees it; edit hook_pattern, hook_z, hook_q, hook_k or hook_v of "
        "the same attention instead."
    )


_ACTING: "weakref.WeakKeyDictionary[Any, set[str]]" = weakref.WeakKeyDictionary()


def _kind(name: str) -> str:
    """A hook point's name without its layer."""
    return re.sub(r"\.\d+\.", ".*.", name)


def _hint(bridge: Any, name: str) -> str:
    block, n_layers = re.match(r"blocks\.(\d+)\.", name), bridge.cfg.n_layers
    if block is not None and int(block[1]) >= n_layers:
        return f"its layers are 0 to {n_layers - 1}."
    nearest = nearest_name(name, bridge.hook_dict)
    return f"did you mean {nearest!r}?" if nearest else "see bridge.hook_dict."


def _check_form(edited: Tensor, tensor: Tensor, hook: Any) -> None:
    if edited.shape != tensor.shape or edited.dtype != tensor.dtype:
        raise ValueError(
            f"the hook at {hook.name} must return shape {tuple(tensor.shape)} and "
            f"{tensor.dtype}, got {tuple(edited.shape)} and {edited.dtype}; a smaller tensor would "
            "be broadcast, so expand it if that is meant."
        )


def _writes_nothing(bridge: Any, name: str) -> bool:
    """Whether `name` lies in an attention whose output projection is zero."""
    match = re.match(r"blocks\.(\d+)\.attn\.", name)
    return match is not None and not bridge.blocks[int(match[1])].attn.W_O.any()
