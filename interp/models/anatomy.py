"""Where a pretrained model's parts are, found by watching one forward and not by their names."""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn


@dataclass(frozen=True)
class Anatomy:
    """The parts of a model that the engine works with.

    Attributes:
        attentions: the modules that call attention, in order.
        layers: the blocks around them.
        final_norm: what stands between the last block and the unembedding, if anything.
        unembedding: the linear map to the vocabulary; None for a model without a head.
        logit_scale, logit_softcap: what the family does to its logits afterwards.
    """

    attentions: tuple[nn.Module, ...]
    layers: tuple[nn.Module, ...]
    final_norm: nn.Module | None
    unembedding: nn.Module | None
    logit_scale: float = 1.0
    logit_softcap: float | None = None

    def readout(
        self, residual: Float[Tensor, "row d_model"], columns: Int[Tensor, "row column"] | None
    ) -> Float[Tensor, "row vocab"]:
        """Logits of the last block's output; with `columns`, in each row only those asked for."""
        if self.unembedding is None:
            raise ValueError("this model has no language-model head, so it has no logits.")
        states = residual if self.final_norm is None else self.final_norm(residual)
        if columns is None:
            logits: Tensor = self.unembedding(states)
        else:
            weight, bias = self.unembedding.weight, self.unembedding.bias
            assert isinstance(weight, Tensor)
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
    config = module.config
    anatomy = Anatomy(
        tuple(attentions),
        layers,
        _final_norm(module, layers[-1], unembedding),
        unembedding,
        logit_scale=_logit_scale(config),
        logit_softcap=getattr(config, "final_logit_softcapping", None),
    )
    _check_readout(module, anatomy)
    return anatomy


def _block_around(module: nn.Module, part: nn.Module) -> nn.Module:
    """The numbered block of a model that holds `part`."""
    name = next(name for name, candidate in module.named_modules() if candidate is part)
    steps = name.split(".")
    depth = next(depth for depth, step in enumerate(steps) if step.isdigit())
    return module.get_submodule(".".join(steps[: depth + 1]))


def _final_norm(module: Any, last: nn.Module, unembedding: nn.Module) -> nn.Module | None:
    """The module that takes the last block's output and gives the unembedding its input."""
    seen: dict[nn.Module, tuple[Tensor, Tensor]] = {}

    def watch(part: nn.Module, inputs: tuple[Any, ...], output: Any) -> None:
        output = output[0] if isinstance(output, tuple) else output
        if inputs and isinstance(inputs[0], Tensor) and isinstance(output, Tensor):
            seen[part] = (inputs[0], output)

    handles = [part.register_forward_hook(watch) for part in module.modules()]
    try:
        _probe(module)
    finally:
        for handle in handles:
            handle.remove()
    start, end = seen[last][1], seen[unembedding][0]
    for part, (taken, given) in seen.items():
        if part not in (last, unembedding) and _same(taken, start) and _same(given, end):
            return part
    return None


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
        expected = _probe(module).logits[0]
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


def _probe(module: Any) -> Any:
    with torch.inference_mode():
        return module(input_ids=torch.arange(4, device=module.device)[None], use_cache=False)
