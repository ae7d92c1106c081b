"""Does a head write the token that it attends to? By weights, on random tokens, and on names."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from interp.encode import Batch
from interp.measures.circuits import copying_sign
from interp.models.embedding import effective_embedding, embedding
from interp.models.frozen_norm import FrozenNorm
from interp.models.head_maps import head_maps
from interp.models.plain import Plain
from interp.models.stream import streams
from interp.models.template import first_tensor
from interp.models.undefined import UndefinedError

N_BEST = 5


def eigenvalue_copying(plain: Plain, *, effective: bool) -> Float[Tensor, "layer head"]:
    """`Σ Re λ / Σ |λ|` of the way from tokens over a head's OV to logits, −1 to 1.

    1: what is attended to is always made more likely. Norms are taken at their gains.

    Args:
        effective: tokens as the first layer gives them (see `effective_embedding`).

    Raises:
        UndefinedError: the model has no vocabulary, or a token has no direction in the stream.

    Source: Elhage et al. 2021, A Mathematical Framework for Transformer Circuits.
    """
    maps = head_maps(plain)
    d_model = maps[0].stream.output.shape[-1]
    unembedding = _unembedding(plain, d_model)
    tokens = effective_embedding(plain) if effective else embedding(plain, d_model)
    # Both are d_model wide: the vocabulary is summed over once, for all heads.
    token_to_logit = unembedding.T @ tokens
    state = _a_state(d_model).to(tokens)
    by_layer = []
    for layer in maps:
        before = FrozenNorm(layer.stream.norm_before, state)
        read = before(token_to_logit) @ layer.head_value
        write = FrozenNorm(plain.anatomy.final_norm, state)(layer.stream.output.flatten(0, 1))
        by_layer.append(copying_sign(read, write.view(layer.stream.output.shape)))
    return torch.stack(by_layer)


def empirical_copying(
    plain: Plain, ids: Int[Tensor, "item pos"], n_before: int
) -> Float[Tensor, "item layer head"]:
    """How much of what a head raises straight in the logits is the token attended to, −1 to 1.

    At each place of random tokens, the raise of a token of the sample is what the head adds to its
    logit over the mean of the vocabulary, where that is positive; a is the raise of the token that
    the head attends to most, specials apart. The score is 4 a / (a + Σ) − 1, Σ over all tokens of
    the sample: 1 when nothing else is raised. Means over places; NaN where a head raises nothing.

    Args:
        n_before: tokens before the sample, which are not attended to here.

    Source: Olsson et al. 2022, arXiv:2209.11895, appendix.
    """
    sample = ids[:, n_before:]
    outputs = [stream.output for stream in streams(plain)]
    d_model = outputs[0].shape[-1]
    unembedding = _unembedding(plain, d_model)
    state = _a_state(d_model).to(unembedding)
    relative = unembedding[sample] - unembedding.mean(0)
    readings = FrozenNorm(plain.anatomy.final_norm, state).back(relative)
    patterns: list[Tensor] = []
    by_layer: list[Tensor] = []

    def read(layer: int, name: str, tensor: Tensor) -> Tensor:
        if name == "pattern":
            patterns.append(tensor[:, :, n_before:, n_before:])
        elif name == "z":
            z = tensor[:, :, n_before:]
            logits = torch.einsum("ihqd,hdm,itm->ihqt", z, outputs[layer], readings)
            by_layer.append(raised_share(patterns.pop(), logits.relu()))
        return tensor

    with torch.inference_mode(), plain.hooked(read):
        plain.states(ids)
    return torch.stack(by_layer, dim=1)


def raised_share(
    pattern: Float[Tensor, "item head query key"], raises: Float[Tensor, "item head query key"]
) -> Float[Tensor, "item head"]:
    """`4 a / (a + Σ) − 1`, a the raise of the key most attended to; the mean over queries."""
    attended = pattern.argmax(-1, keepdim=True)
    raise_of_it = raises.gather(-1, attended)[..., 0]
    share: Tensor = 4 * raise_of_it / (raise_of_it + raises.sum(-1)) - 1
    return share.nanmean(-1)


def name_copying(
    plain: Plain, batches: Sequence[Batch], *, sign: int = 1
) -> Float[Tensor, "item layer head"]:
    """Whether a head that saw nothing but the source would name it, 1 or 0 for each item.

    The state behind the first layer at the source goes through the head's OV as if all attention
    were there, then the final norm and the unembedding: is the source's own token among the five
    that are raised most? Items whose source is not the one token of their answer are left out.

    Args:
        sign: −1 for negative copying: is it among the five that are lowered most?

    Raises:
        UndefinedError: the model has no vocabulary, or no item has its answer for a source.

    Source: Wang et al. 2023, arXiv:2211.00593.
    """
    maps = head_maps(plain)
    states, tokens = _named(plain, batches)
    norm = plain.anatomy.final_norm
    unembedding = _unembedding(plain, maps[0].stream.output.shape[-1])
    by_layer = []
    with torch.inference_mode():
        for layer in maps:
            before = layer.stream.norm_before
            normed = states if before is None else before(states)
            value = torch.einsum("im,hmd->ihd", normed, layer.head_value)
            n_shared = len(layer.stream.output) // len(layer.value_bias)
            value = value + layer.value_bias.repeat_interleave(n_shared, dim=0)
            written = sign * torch.einsum("ihd,hdm->ihm", value, layer.stream.output)
            logits = (written if norm is None else norm(written)) @ unembedding.T
            named = logits.gather(-1, tokens[:, None, None].expand(*logits.shape[:2], 1))
            by_layer.append(((logits > named).sum(-1) < N_BEST).float())
    return torch.stack(by_layer, dim=1)


def _named(
    plain: Plain, batches: Sequence[Batch]
) -> tuple[Float[Tensor, "item d_model"], Int[Tensor, " item"]]:
    """States behind the first layer at sources that are the answer's token, and those tokens."""
    states: list[Tensor] = []
    tokens: list[Tensor] = []
    for batch in batches:
        place = batch.source.long().argmax(1)
        rows = torch.arange(len(batch))
        fits = (batch.source.sum(1) == 1) & (batch.ids[rows, place] == batch.answer)
        outputs: list[Tensor] = []
        handle = plain.anatomy.layers[0].register_forward_hook(
            lambda part, taken, given, outputs=outputs: outputs.append(first_tensor(given))
        )
        try:
            with torch.inference_mode():
                plain.states(batch.ids)
        finally:
            handle.remove()
        states.append(outputs[0][rows, place][fits])
        tokens.append(batch.answer[fits])
    if not sum(map(len, tokens)):
        raise UndefinedError(
            "no item has its answer, as one token, for a source, so there is no name to copy; "
            "give items of coreference whose answer is a name."
        )
    return torch.cat(states), torch.cat(tokens)


def _unembedding(plain: Plain, d_model: int) -> Float[Tensor, "vocab d_model"]:
    anatomy = plain.anatomy
    weight = None if anatomy.unembedding is None else anatomy.unembedding.weight
    if anatomy.head is not None or not isinstance(weight, Tensor) or weight.shape[1] != d_model:
        raise UndefinedError(
            f"{type(plain.module).__name__} has no linear map from its states to a vocabulary, so "
            "what a head copies is not seen in logits."
        )
    return weight.detach()


def _a_state(d_model: int) -> Float[Tensor, "1 d_model"]:
    """A state of size 1, at which norms are no more than their gains."""
    state = torch.randn(1, d_model, generator=torch.Generator().manual_seed(0))
    return state / state.square().mean().sqrt()
