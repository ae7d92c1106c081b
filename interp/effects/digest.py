"""A hash of all that a piece of work is told, so that no setting can be forgotten in it."""

import hashlib
import inspect
from collections.abc import Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import partial
from types import CodeType, FunctionType
from typing import Any

import numpy as np
import torch
from torch import Tensor


def digest(value: Any) -> str:
    """SHA-256 of a value: of dataclasses every field, of tensors every number.

    Of functions it is their code, defaults and closure; not what they find under global names.

    Raises:
        TypeError: it holds something of another kind, whose content is not known.
    """
    held = _held(value)
    parts = [_content(value)] if held is None else [digest(each).encode() for each in held]
    state = hashlib.sha256(f"{type(value).__qualname__} {len(parts)}".encode())
    for part in parts:
        state.update(part)
    return state.hexdigest()


def _content(value: Any) -> bytes:
    """What a value without parts is."""
    if value is None or value is ... or isinstance(value, Enum | str | bool | int | float | bytes):
        return repr(value).encode()
    if isinstance(value, Tensor):
        numbers = value.detach().cpu().contiguous().flatten().view(torch.uint8).numpy()
        return f"{value.dtype} {tuple(value.shape)} ".encode() + numbers.tobytes()
    if isinstance(value, np.ndarray | np.generic):
        return f"{value.dtype} {value.shape} ".encode() + value.tobytes()
    raise TypeError(
        f"the content of a {type(value).__qualname__} is not known, so work that holds one cannot "
        "be told from other work; give it what it needs as numbers, tensors or a dataclass."
    )


def _held(value: Any) -> Sequence[Any] | None:  # noqa: PLR0911  one line a kind
    """What a value holds, in an order of its own; None where it has no parts."""
    if isinstance(value, partial):
        return [value.func, value.args, value.keywords]
    if isinstance(value, FunctionType):
        value = inspect.unwrap(value)
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        names = [value.__module__, value.__qualname__]
        return [*names, value.__code__, value.__defaults__, value.__kwdefaults__, cells]
    if isinstance(value, CodeType):
        return [value.co_code, value.co_names, value.co_consts]
    if is_dataclass(value):
        return [(each.name, getattr(value, each.name)) for each in fields(value)]
    if isinstance(value, Mapping):
        return [(key, value[key]) for key in sorted(value)]
    if isinstance(value, Set):
        return sorted(digest(each) for each in value)
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return value
    return None
