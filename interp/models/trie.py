"""Many prompts, each shared beginning run once: logits at the last token of each.

The prompts are walked as a tree of their tokens. A stretch that several of them share is run once,
and what follows goes on over its keys and values.
"""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from transformers import DynamicCache

from interp.models.plain import Plain
from interp.models.template import first_tensor

_ROWS = 4096
"""Tokens that are held at a time, keys and values of all layers, in each branch of the walk."""

_STRETCH = 256
"""Tokens of one prompt that are run at a time: the largest pattern is this by the context."""

Prompt = tuple[int, ...]


@dataclass(frozen=True)
class _Node:
    """Prompts with a common beginning of `n_run` tokens, whose keys and values are in `row`."""

    prompts: tuple[Prompt, ...]  # distinct and in order
    n_run: int
    row: int

    @property
    def stretch(self) -> Prompt:
        """The further tokens that they share."""
        first, last = self.prompts[0], self.prompts[-1]
        n_shared = self.n_run
        while n_shared < len(first) and first[n_shared] == last[n_shared]:
            n_shared += 1
        return first[self.n_run : n_shared]


@dataclass(frozen=True)
class _Cache:
    """Keys and values of nodes that have run equally far, a row a node."""

    layers: list[tuple[Tensor, Tensor]]

    def of(self, rows: list[int]) -> DynamicCache:
        """Those of some rows, for the model to go on from; its own copy."""
        cache = DynamicCache()
        for index, (key, value) in enumerate(self.layers):
            cache.update(key[rows], value[rows], index)
        return cache


def last_logits(
    plain: Plain, prompts: Sequence[Sequence[int]], columns: Int[Tensor, "row column"]
) -> Float[Tensor, "row column"]:
    """Logits of some tokens behind the last token of each prompt.

    They are those of a forward of the prompt alone, to 1e-5 of the largest. Work is that of the
    distinct tokens of the tree; memory is bounded, whatever the number of prompts. A family that
    cannot go on from keys and values runs each prompt alone.

    Args:
        prompts: token ids, prefix included; they may differ in length.
        columns: the tokens whose logits are wanted, for each prompt.

    Raises:
        ValueError: a bidirectional model, where no beginning is independent of what follows, a
            model without logits, or an empty prompt.
    """
    if not plain.is_causal or plain.anatomy.unembedding is None:
        raise ValueError(
            f"{type(plain.module).__name__} is no causal language model, and last_logits reads the "
            "prediction of the next token; take the logits at a mask, or hidden states, instead."
        )
    distinct = sorted({tuple(prompt) for prompt in prompts})
    if not distinct or not distinct[0]:
        raise ValueError("expected prompts of at least one token each, got an empty one or none.")
    states: dict[Prompt, Tensor] = {}
    with torch.inference_mode():
        if _goes_on(plain):
            _walk(plain, _branches(distinct, 0, row=0), None, states)
        else:
            for prompt in distinct:
                ids = torch.tensor([prompt], device=plain.module.device)
                states[prompt] = _advance(plain, ids, DynamicCache())[0]
        last = torch.stack([states[tuple(prompt)] for prompt in prompts])
        return plain.readout(last, columns.to(last.device))


def _walk(
    plain: Plain, nodes: list[_Node], cache: _Cache | None, states: dict[Prompt, Tensor]
) -> None:
    """Run the stretches of nodes that have run equally far, then what follows each."""
    ordered = sorted(nodes, key=lambda node: len(node.stretch))
    for n_tokens, same in groupby(ordered, key=lambda node: len(node.stretch)):
        group = list(same)
        n_rows = max(1, _ROWS // (group[0].n_run + n_tokens))
        for start in range(0, len(group), n_rows):
            _run(plain, group[start : start + n_rows], cache, states)


def _run(
    plain: Plain, nodes: list[_Node], cache: _Cache | None, states: dict[Prompt, Tensor]
) -> None:
    """Run the stretches of some nodes, equally long, in one batch; then what follows."""
    running = DynamicCache() if cache is None else cache.of([node.row for node in nodes])
    ids = torch.tensor([node.stretch for node in nodes], device=plain.module.device)
    for start in range(0, ids.shape[1], _STRETCH):
        last = _advance(plain, ids[:, start : start + _STRETCH], running)
    children: list[_Node] = []
    for row, node in enumerate(nodes):
        n_run = node.n_run + ids.shape[1]
        if len(node.prompts[0]) == n_run:
            states[node.prompts[0]] = last[row]
        children += _branches(node.prompts, n_run, row=row)
    if children:
        _walk(plain, children, _Cache(_layers(running)), states)


def _branches(prompts: Sequence[Prompt], n_run: int, *, row: int) -> list[_Node]:
    """Prompts that go on after `n_run` tokens, by what they go on with."""
    longer = (prompt for prompt in prompts if len(prompt) > n_run)
    return [
        _Node(tuple(rest), n_run, row) for _, rest in groupby(longer, key=lambda each: each[n_run])
    ]


def _advance(
    plain: Plain, ids: Int[Tensor, "row pos"], cache: DynamicCache
) -> Float[Tensor, "row d_model"]:
    """The last block's output at the last of some further tokens, which the cache then holds."""
    final: list[Tensor] = []
    handle = plain.anatomy.layers[-1].register_forward_hook(
        lambda module, inputs, output: final.append(first_tensor(output)[:, -1])
    )
    try:
        base: Any = plain.module.base_model
        base(input_ids=ids, use_cache=True, **{_cache_name(base): cache})
    finally:
        handle.remove()
    return final[0]


def _goes_on(plain: Plain) -> bool:
    """Whether the model gives the same over stored keys and values as in one forward.

    Rotary frequencies that depend on the length of a text leave the keys of a shorter one wrong.
    """
    rope = getattr(plain.module.config, "rope_parameters", None) or {}
    if rope.get("rope_type") in ("dynamic", "longrope"):
        return False
    ids = torch.arange(8, device=plain.module.device)[None]
    whole = _advance(plain, ids, DynamicCache())
    cache = DynamicCache()
    _advance(plain, ids[:, :5], cache)
    return bool((_advance(plain, ids[:, 5:], cache) - whole).abs().max() < 1e-4 * whole.abs().max())


def _cache_name(module: Any) -> str:
    """What a module's forward calls its cache; transformers has changed the name."""
    return "cache" if "cache" in inspect.signature(module.forward).parameters else "past_key_values"


def _layers(cache: DynamicCache) -> list[tuple[Tensor, Tensor]]:
    return [(layer.keys, layer.values) for layer in cache.layers]
