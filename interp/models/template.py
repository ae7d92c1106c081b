"""How a model calls its layers for a text of a given length, without the work of running them.

The model's own forward runs once on one text, each layer stopped when it asks for attention. That
shows what every layer is called with and how it asks: rotary angles, masks, windows, biases. With
it a layer can be called on any rows, each standing at its own position.
"""

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.utils import _pytree

from interp.models.axes import Arguments, Axes, at_rows, probe_axes, recording
from interp.models.plain import Attend, Call, Plain

HIDDEN = 0  # the residual stream is the first argument of every block


@dataclass(frozen=True, kw_only=True)
class Template:
    """What each layer is called with for one text of `length` tokens. Lists have one entry a layer.

    Attributes:
        arguments: as the layer gets them; `axes` say where items and rows are.
        options: the further arguments of its attention, such as mask and bias.
    """

    plain: Plain
    length: int
    arguments: list[Arguments]
    axes: list[list[Axes]]
    options: list[dict[str, Any]]

    @cached_property
    def kinds(self) -> list[int]:
        """For each layer, the first layer that asks for attention with the same mask and bias."""
        kinds: list[int] = []
        for layer, asked in enumerate(self.options):
            same = (kind for kind in dict.fromkeys(kinds) if _alike(self.options[kind], asked))
            kinds.append(next(same, layer))
        return kinds

    @cached_property
    def sees_all_before(self) -> dict[int, bool]:
        """For each kind, whether a row sees every position up to its own and no other."""
        seen = {}
        for kind in dict.fromkeys(self.kinds):
            mask = self.options[kind].get("mask")
            causal = torch.ones(self.length, self.length, dtype=torch.bool).tril()
            seen[kind] = mask is None or (
                mask.shape[1] == 1 and torch.equal(mask[0, 0].cpu(), causal)
            )
        return seen

    def run_layer(
        self,
        layer: int,
        hidden: Float[Tensor, "lane row d_model"],
        attend: Attend,
        *,
        rows: Int[Tensor, " row"] | None = None,
    ) -> Float[Tensor, "lane row d_model"]:
        """One block's output, `attend` answering for its attention.

        Args:
            rows: the position at which each row stands; 0, 1, 2 … when None.
        """
        arguments = self.arguments[layer]
        leaves = [
            at_rows(leaf, axes, rows=rows, n_lanes=len(hidden))
            for leaf, axes in zip(arguments.leaves, self.axes[layer], strict=True)
        ]
        leaves[HIDDEN] = hidden
        args, kwargs = arguments.rebuilt(leaves)
        self.plain.residence.hold(self.plain.anatomy.layers[layer])
        with self.plain.attending(attend):
            return first_tensor(self.plain.anatomy.layers[layer](*args, **kwargs))


def template(plain: Plain, length: int) -> Template:
    """The template of texts of this length.

    Raises:
        ValueError: the family's layers hand one another more than the residual stream.
    """
    if plain not in _AXES:
        small, wide, long = (_skim(plain, *shape)[0] for shape in ((2, 5), (3, 5), (2, 7)))
        _AXES[plain] = [probe_axes(*layer) for layer in zip(small, wide, long, strict=True)]
    arguments, options = _skim(plain, 1, length)
    return Template(
        plain=plain, length=length, arguments=arguments, axes=_AXES[plain], options=options
    )


def embedded(plain: Plain, ids: Int[Tensor, "item pos"]) -> Float[Tensor, "item pos d_model"]:
    """What the first block is given."""
    given: list[Tensor] = []

    def stop(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        given.append(_pytree.tree_flatten((args, kwargs))[0][HIDDEN])
        raise _StopHere

    handle = plain.anatomy.layers[0].register_forward_pre_hook(stop, with_kwargs=True)
    try:
        plain.states(ids)
    except _StopHere:
        pass
    finally:
        handle.remove()
    return given[0]


def first_tensor(output: Any) -> Tensor:
    """A block's output, which some families wrap in a tuple."""
    tensor = output[0] if isinstance(output, tuple) else output
    assert isinstance(tensor, Tensor)
    return tensor


_Forms = list[tuple[Any, ...] | None]
_AXES: "weakref.WeakKeyDictionary[Plain, list[list[Axes]]]" = weakref.WeakKeyDictionary()
_FORMS: "weakref.WeakKeyDictionary[Plain, _Forms]" = weakref.WeakKeyDictionary()


def _alike(one: dict[str, Any], other: dict[str, Any]) -> bool:
    def same(a: Any, b: Any) -> bool:
        if isinstance(a, Tensor) and isinstance(b, Tensor):
            return a is b or torch.equal(a, b)
        return a is b

    return all(same(one.get(name), other.get(name)) for name in ("mask", "bias"))


class _StopHere(Exception):  # noqa: N818  no error: the way out of a forward
    pass


class _Asked(Exception):  # noqa: N818  no error: the way out of a layer
    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options


def _skim(plain: Plain, n_items: int, length: int) -> tuple[list[Arguments], list[dict[str, Any]]]:
    ids = torch.full((1, length), 3, device=plain.module.device)  # no family's padding
    layers = plain.anatomy.layers
    with torch.inference_mode(), _stopped(plain) as options, recording(layers) as arguments:
        plain.states(ids.expand(n_items, length))
    return arguments, options


@contextmanager
def _stopped(plain: Plain) -> Iterator[list[dict[str, Any]]]:
    """While the block runs, layers hand on what they are given; how each asks for attention."""
    options: list[dict[str, Any]] = []
    if plain not in _FORMS:
        _FORMS[plain] = _output_forms(plain)
    forms = _FORMS[plain]

    def ask(call: Call) -> Tensor:
        raise _Asked(call.options)

    def only_ask(layer: nn.Module, form: tuple[Any, ...] | None) -> Any:
        def forward(*args: Any, **kwargs: Any) -> Any:
            try:
                with plain.attending(ask):
                    type(layer).forward(layer, *args, **kwargs)
            except _Asked as asked:
                options.append(asked.options)
            hidden = _pytree.tree_flatten((args, kwargs))[0][HIDDEN]
            return hidden if form is None else (hidden, *form)

        return forward

    layers = plain.anatomy.layers
    own = [layer.__dict__.get("forward") for layer in layers]  # accelerate's, where it has one
    try:
        for layer, form in zip(layers, forms, strict=True):
            layer.forward = only_ask(layer, form)
        yield options
    finally:
        for layer, forward in zip(layers, own, strict=True):
            layer.__dict__.pop("forward")
            if forward is not None:
                layer.forward = forward


def _output_forms(plain: Plain) -> _Forms:
    """What each layer gives beside the residual stream: None when it gives a bare tensor."""
    forms: _Forms = []

    def keep(module: nn.Module, inputs: Any, output: Any) -> None:
        rest = output[1:] if isinstance(output, tuple) else None
        if any(isinstance(part, Tensor) for part in rest or ()):
            raise ValueError(
                f"the layers of {type(plain.module).__name__} hand one another more than the "
                "residual stream, so one cannot be called on other rows."
            )
        forms.append(rest)

    handles = [layer.register_forward_hook(keep) for layer in plain.anatomy.layers]
    try:
        with torch.inference_mode():
            plain.states(torch.arange(4, device=plain.module.device)[None])
    finally:
        for handle in handles:
            handle.remove()
    return forms
