"""Attention in NumPy, straight from the formula: the second route of the tests.

Slow on purpose: one loop over heads, one over queries, float64 throughout, no tricks shared with
`interp.attention`.
"""
# ruff: noqa: N803 -- W_Q and b_Q are the field's names for these weights

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float


@dataclass(frozen=True, kw_only=True)
class Attention:
    """Every quantity on the way from a residual stream to what attention adds to it."""

    query: Float[np.ndarray, "head pos d_head"]
    key: Float[np.ndarray, "kv_head pos d_head"]
    value: Float[np.ndarray, "kv_head pos d_value"]
    scores: Float[np.ndarray, "head pos pos"]
    pattern: Float[np.ndarray, "head pos pos"]
    z: Float[np.ndarray, "head pos d_value"]
    out: Float[np.ndarray, "pos d_model"]


def attention(
    x: Float[np.ndarray, "pos d_model"],
    *,
    W_Q: Float[np.ndarray, "head d_model d_head"],
    W_K: Float[np.ndarray, "kv_head d_model d_head"],
    W_V: Float[np.ndarray, "kv_head d_model d_value"],
    W_O: Float[np.ndarray, "head d_value d_model"],
    b_Q: Float[np.ndarray, "head d_head"] | None = None,
    b_K: Float[np.ndarray, "kv_head d_head"] | None = None,
    b_V: Float[np.ndarray, "kv_head d_value"] | None = None,
    b_O: Float[np.ndarray, " d_model"] | None = None,
    scale: float,
    mask: Bool[np.ndarray, "*#head pos pos"] | None = None,
    softcap: float | None = None,
    bias: Float[np.ndarray, "*#head pos pos"] | None = None,
    sinks: Float[np.ndarray, " head"] | None = None,
) -> Attention:
    """One layer of attention over one sequence. The arguments mean what they do in `attention`.

    Scores are −inf where the mask forbids; a row with every key masked has a pattern and z of 0.
    """
    n_heads, n_kv_heads, n_pos = len(W_Q), len(W_K), len(x)
    shape = (n_heads, n_pos, n_pos)
    is_open = np.broadcast_to(True if mask is None else mask, shape)
    added = np.broadcast_to(0.0 if bias is None else bias, shape)
    x = x.astype(np.float64)

    query = np.stack([x @ W_Q[h] + (0 if b_Q is None else b_Q[h]) for h in range(n_heads)])
    key = np.stack([x @ W_K[g] + (0 if b_K is None else b_K[g]) for g in range(n_kv_heads)])
    value = np.stack([x @ W_V[g] + (0 if b_V is None else b_V[g]) for g in range(n_kv_heads)])

    scores = np.full(shape, -np.inf)
    pattern = np.zeros(shape)
    z = np.zeros((n_heads, n_pos, value.shape[-1]))
    out = np.zeros_like(x)
    for h in range(n_heads):
        g = h * n_kv_heads // n_heads
        for i in range(n_pos):
            for j in np.flatnonzero(is_open[h, i]):
                score = scale * np.dot(query[h, i], key[g, j])
                if softcap is not None:
                    score = softcap * np.tanh(score / softcap)
                scores[h, i, j] = score + added[h, i, j]
            pattern[h, i] = _softmax(scores[h, i], None if sinks is None else sinks[h])
            z[h, i] = sum(pattern[h, i, j] * value[g, j] for j in range(n_pos))
        out += z[h] @ W_O[h]
    if b_O is not None:
        out += b_O
    return Attention(
        query=query, key=key, value=value, scores=scores, pattern=pattern, z=z, out=out
    )


def _softmax(
    scores: Float[np.ndarray, " key"], sink: np.floating | None
) -> Float[np.ndarray, " key"]:
    if np.all(scores == -np.inf):
        return np.zeros_like(scores)
    largest = scores.max() if sink is None else max(scores.max(), sink)
    exponentials = np.exp(scores - largest)
    in_sink = 0.0 if sink is None else np.exp(sink - largest)
    pattern: Float[np.ndarray, " key"] = exponentials / (exponentials.sum() + in_sink)
    return pattern
