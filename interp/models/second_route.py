"""What an edit should do, by another way: NumPy from the formula, then the family's own model.

Query, key and value are taken from a run; the formula gives z, in float64; and z goes into the
output projection of a model that transformers runs alone, without our attention.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from einops import rearrange
from jaxtyping import Float, Int
from torch import Tensor, nn

from interp.models.families import output_of
from interp.models.plain import Call

Edit = Callable[[str, np.ndarray], np.ndarray]


def formula_z(call: Call, edit: Edit) -> Float[np.ndarray, "item head query d_head"]:
    """z of one layer, each of its six quantities passed through `edit(name, array)`."""
    query, key, value = (
        edit(name, _array(tensor))
        for name, tensor in (("query", call.query), ("key", call.key), ("value", call.value))
    )
    n_items, n_heads, n_query, _ = query.shape
    group = n_heads // key.shape[1]
    options = {name: option for name, option in call.options.items() if option is not None}
    scores = np.empty((n_items, n_heads, n_query, key.shape[2]))
    for head in range(n_heads):
        scores[:, head] = query[:, head] @ key[:, head // group].swapaxes(-1, -2)
    scores *= options["scale"]
    if "softcap" in options:
        scores = options["softcap"] * np.tanh(scores / options["softcap"])
    if "bias" in options:
        scores += _array(options["bias"])
    if "mask" in options:
        scores = np.where(options["mask"].numpy(), scores, -np.inf)
    scores = edit("scores", scores)
    in_sink = _array(options["sinks"])[:, None, None] if "sinks" in options else -np.inf
    largest = np.maximum(scores.max(axis=-1, keepdims=True), in_sink)
    weights = np.exp(scores - largest)
    total = weights.sum(axis=-1, keepdims=True) + np.exp(in_sink - largest)
    pattern = edit("pattern", weights / total)
    z = np.empty((*pattern.shape[:3], value.shape[-1]))
    for head in range(n_heads):
        z[:, head] = pattern[:, head] @ value[:, head // group]
    return edit("z", z)


@dataclass(frozen=True)
class Projection:
    """The module that takes a layer's z, and at which of its calls: ALBERT has one for all."""

    module: nn.Module
    call: int


def output_projections(
    model: Any, ids: Int[Tensor, "item pos"], z: list[Float[Tensor, "item head pos d_head"]]
) -> list[Projection]:
    """For each layer the module whose input is its z, found by running the model.

    Raises:
        ValueError: a layer has none.
    """
    seen: list[tuple[Projection, Tensor]] = []

    def watch(module: nn.Module, args: tuple[Any, ...]) -> None:
        if args and isinstance(args[0], Tensor):
            n_calls = sum(site.module is module for site, _ in seen)
            seen.append((Projection(module, n_calls), args[0]))

    handles = [
        module.register_forward_pre_hook(watch)
        for module in model.modules()
        if next(module.children(), None) is None and hasattr(module, "weight")
    ]
    try:
        with torch.inference_mode():
            model(input_ids=ids, use_cache=False)
    finally:
        for handle in handles:
            handle.remove()
    return [_taking(_merged(each), seen) for each in z]


def output_with_z(
    model: Any,
    ids: Int[Tensor, "item pos"],
    projection: Projection,
    z: Float[np.ndarray, "item head pos d_head"],
) -> Float[Tensor, "item pos column"]:
    """The model's output when one layer's projection is given another z."""
    n_calls = 0

    def replace(module: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...]:
        nonlocal n_calls
        is_here, n_calls = n_calls == projection.call, n_calls + 1
        return (_merged(torch.from_numpy(z).to(args[0].dtype)), *args[1:]) if is_here else args

    handle = projection.module.register_forward_pre_hook(replace)
    try:
        with torch.inference_mode():
            return output_of(model(input_ids=ids, use_cache=False))
    finally:
        handle.remove()


def _taking(wanted: Tensor, seen: list[tuple[Projection, Tensor]]) -> Projection:
    for projection, taken in seen:
        if taken.shape == wanted.shape and torch.allclose(taken, wanted, rtol=1e-4, atol=1e-4):
            return projection
    raise ValueError("no module takes z as it is, so there is no output projection to compare at.")


def _merged(z: Tensor) -> Tensor:
    return rearrange(z, "item head pos d_head -> item pos (head d_head)")


def _array(tensor: Tensor) -> np.ndarray:
    return tensor.detach().double().numpy()
