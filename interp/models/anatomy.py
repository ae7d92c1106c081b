"""Where a pretrained model's parts are, found by watching one forward and not by their names."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from transformers.modeling_outputs import BaseModelOutput


@dataclass(frozen=True)
class Anatomy:
    """The parts of a model that the engine works with.

    Attributes:
        attentions: the modules that call attention, in order.
        layers: the blocks around them.
        final_norm: what stands between the last block and the unembedding, if anything.
        unembedding: the linear map to the vocabulary; None for a model without a head.
        logit_scale, logit_softcap: what the family does to its logits afterwards.
        head: all that makes logits of normed states, where that is more than the unembedding.
    """

    attentions: tuple[nn.Module, ...]
    layers: tuple[nn.Module, ...]
    final_norm: nn.Module | None
    unembedding: nn.Module | None
    logit_scale: float = 1.0
    logit_softcap: float | None = None
    head: Callable[[Tensor], Tensor] | None = None

    def readout(
        self, residual: Float[Tensor, "row d_model"], columns: Int[Tensor, "row column"] | None
    ) -> Float[Tensor, "row vocab"]:
        """Logits of the last block's output; with `columns`, in each row only those asked for."""
        if self.unembedding is None:
            raise ValueError("this model has no language-model head, so it has no logits.")
        states = residual if self.final_norm is None else self.final_norm(residual)
        if self.head is not None:
            whole = self.head(states)
            return whole if columns is None else whole.gather(1, columns)
        weight, bias = self.unembedding.weight, self.unembedding.bias
        assert isinstance(weight, Tensor)
        if columns is None or weight.is_meta:  # weights that are elsewhere come for a whole call
            logits: Tensor = self.unembedding(states)
            logits = logits if columns is None else logits.gather(1, columns)
        else:
            logits = torch.einsum("rd,rcd->rc", states, weight[columns])
            if isinstance(bias, Tensor):
                logits = logits + bias[columns]
        logits = logits * self.logit_scale
        if self.logit_softcap is None:
            return logits
        return self.logit_softcap * torch.tanh(logits / self.logit_softcap)


def dissect(module: Any, attentions: list[nn.Module]) -> Anatomy:
    """The anatomy of a model whose `attentions` called our function, in this order.

    Raises:
        ValueError: attention was not called once in each layer, or the logits cannot be made from
            the last block's output.
    """
    n_layers = module.config.num_hidden_layers
    family = type(module).__name__
    if len(attentions) != n_layers or len(set(attentions)) != n_layers:
        raise ValueError(
            f"{family} called our attention {len(attentions)} times in a forward, expected once "
            f"in each of its {n_layers} layers; this family is not supported."
        )
    layers = tuple(_block_around(module, attention) for attention in attentions)
    unembedding = module.get_output_embeddings()
    if unembedding is None:
        return Anatomy(tuple(attentions), layers, None, None)
    seen = inputs_and_outputs(module)
    start, end = seen[layers[-1]][1], seen[unembedding][0]
    norm, head = _between(seen, start, end), None
    if norm is None and not _same(start, end):
        norm, head = _between(seen, start, seen[module.base_model][1]), partial(_head, module)
    anatomy = Anatomy(
        tuple(attentions),
        layers,
        norm,
        unembedding,
        logit_scale=_logit_scale(module.config),
        logit_softcap=getattr(module.config, "final_logit_softcapping", None),
        head=head,
    )
    _check_readout(module, anatomy)
    return anatomy


def _block_around(module: nn.Module, part: nn.Module) -> nn.Module:
    """The numbered block of a model that holds `part`."""
    name = next(name for name, candidate in module.named_modules() if candidate is part)
    steps = name.split(".")
    depth = next(depth for depth, step in enumerate(steps) if step.isdigit())
    return module.get_submodule(".".join(steps[: depth + 1]))


def inputs_and_outputs(module: Any) -> dict[nn.Module, tuple[Tensor, Tensor]]:
    """The first tensor that each part takes and the first that it gives, in one forward.

    Both are copies: some families go on to add to them in place.
    """
    seen: dict[nn.Module, tuple[Tensor, Tensor]] = {}

    def watch(part: nn.Module, args: Any, kwargs: Any, output: Any) -> None:
        taken = next((x for x in (*args, *kwargs.values()) if isinstance(x, Tensor)), None)
        given = output if isinstance(output, Tensor) else output[0]
        if taken is not None and isinstance(given, Tensor):
            seen[part] = (taken.clone(), given.clone())

    handles = [part.register_forward_hook(watch, with_kwargs=True) for part in module.modules()]
    try:
        probe(module)
    finally:
        for handle in handles:
            handle.remove()
    return seen


def _between(
    seen: dict[nn.Module, tuple[Tensor, Tensor]], start: Tensor, end: Tensor
) -> nn.Module | None:
    """The module that takes the one and gives the other, if there is one."""
    if _same(start, end):
        return None
    fits = (
        part for part, (taken, given) in seen.items() if _same(taken, start) and _same(given, end)
    )
    return next(fits, None)


def _head(module: Any, states: Float[Tensor, "row d_model"]) -> Float[Tensor, "row vocab"]:
    """The model's own head on given states: its forward, with the blocks left out."""
    module.base_model.forward = lambda *args, **kwargs: BaseModelOutput(
        last_hidden_state=states[None]
    )
    try:
        logits: Tensor = probe(module).logits[0]
    finally:
        del module.base_model.forward
    return logits


def _same(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and torch.equal(one, other)


def _logit_scale(config: Any) -> float:
    """Cohere multiplies its logits, Granite divides them."""
    if hasattr(config, "logits_scaling"):
        return 1.0 / float(config.logits_scaling)
    return float(getattr(config, "logit_scale", None) or 1.0)


def _check_readout(module: Any, anatomy: Anatomy) -> None:
    """Our logits, all and by column, against the model's own."""
    last: list[Tensor] = []
    handle = anatomy.layers[-1].register_forward_hook(
        lambda part, inputs, output: last.append(output[0] if isinstance(output, tuple) else output)
    )
    try:
        expected = probe(module).logits[0]
    finally:
        handle.remove()
    columns = torch.arange(3, device=expected.device).expand(len(expected), 3)
    with torch.inference_mode():
        whole, some = anatomy.readout(last[0][0], None), anatomy.readout(last[0][0], columns)
    tolerance = 1e-5 * expected.abs().max().item()
    if not (
        torch.allclose(whole, expected, atol=tolerance, rtol=0)
        and torch.allclose(some, expected[:, :3], atol=tolerance, rtol=0)
    ):
        raise ValueError(
            f"the logits of {type(module).__name__} are not its unembedding of the final norm; "
            "this family is not supported."
        )


def probe(module: Any) -> Any:
    """A model's output for a few tokens."""
    with torch.inference_mode():
        return module(input_ids=torch.arange(4, device=module.device)[None], use_cache=False)
