"""Attention written out: one pure function, with a hook at every quantity it passes through."""

from collections.abc import Callable
from math import inf

import torch
from einops import rearrange
from jaxtyping import Bool, Float
from torch import Tensor

Hook = Callable[[str, Tensor], Tensor]
"""`hook(name, tensor) -> tensor`: the computation goes on with what is returned."""


def untouched(name: str, tensor: Tensor) -> Tensor:
    """The hook that changes nothing."""
    return tensor


def attention(
    query: Float[Tensor, "batch head query d_head"],
    key: Float[Tensor, "batch kv_head key d_head"],
    value: Float[Tensor, "batch kv_head key d_value"],
    *,
    scale: float,
    mask: Bool[Tensor, "#batch #head #query key"] | None = None,
    softcap: float | None = None,
    bias: Float[Tensor, "#batch #head #query key"] | None = None,
    sinks: Float[Tensor, " head"] | None = None,
    hook: Hook = untouched,
) -> Float[Tensor, "batch head query d_value"]:
    """What each head gathers for each query, called z: values averaged by the attention pattern.

    The hook is called once each at `query`, `key`, `value`, `scores`, `pattern` and `z`, in that
    order. Keys and values come to it as the model has them, one per kv head; query head h reads
    kv head h // (n_heads / n_kv_heads). Scores are what the softmax is taken of: scaled, capped,
    biased, and −inf where the mask forbids. The mask is not applied again after the hook, so an
    edit can close a key (−inf, the rest renormalises) and can also open one that was masked.

    A row in which every key is closed attends to nothing: its pattern and z are 0, and so are the
    gradients through it. The softmax is taken in float32 at least.

    Args:
        query, key, value: after position embedding and normalisation, if the model has them.
        scale: what a dot product is multiplied by, usually d_head ** -0.5.
        mask: True where a query may attend.
        softcap: c in c·tanh(score / c), which acts before bias and mask.
        bias: added to the scores, such as ALiBi or a relative position bias.
        sinks: per head the score of one more key, whose value is 0 and which no mask closes. It
            is in the softmax and not in the pattern, so rows of the pattern sum to less than 1.

    Raises:
        ValueError: the query heads cannot be shared out evenly among the kv heads, or a hook
            returned another shape or dtype than it was given.

    Sources: Vaswani et al. 2017, arXiv:1706.03762; grouped keys and values, Ainslie et al. 2023,
    arXiv:2305.13245; ALiBi, Press et al. 2022, arXiv:2108.12409; soft-cap, Gemma 2,
    arXiv:2408.00118; learned sinks, gpt-oss, arXiv:2508.10925.
    """
    n_heads, n_kv_heads, n_query = query.shape[1], key.shape[1], query.shape[2]
    if n_heads % n_kv_heads:
        raise ValueError(
            f"the number of query heads must be a multiple of the number of kv heads, got "
            f"{n_heads} and {n_kv_heads}; pass one key and value per group of query heads."
        )
    query = _hooked(hook, "query", query)
    key = _hooked(hook, "key", key)
    value = _hooked(hook, "value", value)

    # The queries of a group lie side by side, so that no key and no value is copied.
    grouped = "batch (kv_head group) query ... -> batch kv_head (group query) ..."
    ungrouped = "batch kv_head (group query) ... -> batch (kv_head group) query ..."
    scores = rearrange(query, grouped, kv_head=n_kv_heads) @ key.mT
    scores = rearrange(scores.mul_(scale), ungrouped, query=n_query)
    scores = _hooked(hook, "scores", masked(scores, softcap=softcap, bias=bias, mask=mask))

    of_head = None if sinks is None else sinks[:, None, None]
    pattern = _hooked(hook, "pattern", pattern_of(scores, of_head))
    z = rearrange(pattern, grouped, kv_head=n_kv_heads) @ value
    return _hooked(hook, "z", rearrange(z, ungrouped, query=n_query))


def causal_mask(
    n_query: int, n_key: int, *, window: int | None = None
) -> Bool[Tensor, "1 1 query key"]:
    """True where a query may attend: to itself and to what came before it.

    The queries are the last `n_query` of the `n_key` positions. With a window, only the nearest
    `window` keys are open, the query's own among them.

    Raises:
        ValueError: there are more queries than keys, or the window holds no key.
    """
    if n_query > n_key:
        raise ValueError(
            f"every query must have a key of its own, got {n_query} queries and {n_key} keys; "
            "pass all keys, those of earlier positions first."
        )
    if window is not None and window < 1:
        raise ValueError(
            f"window must be at least 1, the query's own position, got {window}; "
            "leave it out for full causal attention."
        )
    query_pos = torch.arange(n_key - n_query, n_key)[:, None]
    distance = query_pos - torch.arange(n_key)
    is_open = (distance >= 0) & (distance < (n_key if window is None else window))
    return is_open[None, None]


def masked(
    scores: Float[Tensor, "*rows key"],
    *,
    softcap: float | None = None,
    bias: Float[Tensor, "*#rows #key"] | None = None,
    mask: Bool[Tensor, "*#rows #key"] | None = None,
) -> Float[Tensor, "*rows key"]:
    """Scaled scores, capped, biased, and −inf where the mask forbids, in this order."""
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    if bias is not None:
        scores = scores + bias.to(scores.dtype)
    return scores if mask is None else torch.where(mask, scores, -inf)


def pattern_of(
    scores: Float[Tensor, "*rows key"], sinks: Float[Tensor, "*#rows 1"] | None = None
) -> Float[Tensor, "*rows key"]:
    """The softmax over keys; 0 in a row in which every key is closed."""
    pattern = _softmax(scores, sinks)
    # The rare case is looked for in one column: to guard every row would cost a quarter of the
    # whole computation. A NaN that came in with the scores stays a NaN.
    if pattern[..., 0].isnan().any():
        has_no_key = (scores == -inf).all(dim=-1, keepdim=True)
        pattern = _softmax(scores.masked_fill(has_no_key, 0.0), sinks)
        pattern = pattern.masked_fill(has_no_key, 0.0)
    return pattern


def _softmax(
    scores: Float[Tensor, "*rows key"], sinks: Float[Tensor, "*#rows 1"] | None
) -> Float[Tensor, "*rows key"]:
    wide = torch.promote_types(scores.dtype, torch.float32)
    if sinks is None:
        return scores.softmax(dim=-1, dtype=wide).to(scores.dtype)
    sink_scores = sinks.expand(*scores.shape[:-1], 1)
    with_sink = torch.cat([scores, sink_scores], dim=-1).softmax(dim=-1, dtype=wide)
    return with_sink[..., :-1].to(scores.dtype)


def _hooked(hook: Hook, name: str, tensor: Tensor) -> Tensor:
    edited = hook(name, tensor)
    if isinstance(edited, Tensor):
        if edited.shape == tensor.shape and edited.dtype == tensor.dtype:
            return edited
        came = f"shape {tuple(edited.shape)} and dtype {edited.dtype}"
    else:
        came = type(edited).__name__
    raise ValueError(
        f"the hook at {name!r} must return a tensor of shape {tuple(tensor.shape)} and dtype "
        f"{tensor.dtype}, got {came}; return the tensor it was given to change nothing."
    )
