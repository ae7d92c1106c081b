"""Multi-head attention as H independent heads: for teaching, small models and planted ones."""

import torch
from einops import einsum
from jaxtyping import Float
from torch import Tensor, nn

import interp.attention as written_out
from interp.attention import Hook, causal_mask, untouched


class MultiHeadAttention(nn.Module):
    """Heads that read the residual stream apart and whose outputs add up.

    Weights are named and shaped as the field writes them: `W_Q` [head, d_model, d_head], `W_K` and
    `W_V` [kv_head, d_model, d_head], `W_O` [head, d_head, d_model], biases `b_Q`, `b_K`, `b_V`,
    `b_O`. A residual stream of unit variance starts out with queries, keys and values of unit
    variance; biases start at 0. Scores are scaled by d_head ** -0.5.

    Args:
        n_kv_heads: how many keys and values the query heads share; one for each head if left out.
        is_causal: whether a position sees itself and the past only, or all positions.

    Source: Vaswani et al. 2017, arXiv:1706.03762, with the concatenation written as a sum over
    heads (Elhage et al. 2021, A Mathematical Framework for Transformer Circuits).
    """

    def __init__(
        self,
        *,
        d_model: int,
        d_head: int,
        n_heads: int,
        n_kv_heads: int | None = None,
        is_causal: bool,
    ) -> None:
        super().__init__()
        n_kv_heads = n_heads if n_kv_heads is None else n_kv_heads
        self.is_causal = is_causal
        self.W_Q = _weight(n_heads, d_model, d_head, n_inputs=d_model)
        self.W_K = _weight(n_kv_heads, d_model, d_head, n_inputs=d_model)
        self.W_V = _weight(n_kv_heads, d_model, d_head, n_inputs=d_model)
        self.W_O = _weight(n_heads, d_head, d_model, n_inputs=n_heads * d_head)
        self.b_Q = nn.Parameter(torch.zeros(n_heads, d_head))
        self.b_K = nn.Parameter(torch.zeros(n_kv_heads, d_head))
        self.b_V = nn.Parameter(torch.zeros(n_kv_heads, d_head))
        self.b_O = nn.Parameter(torch.zeros(d_model))

    def forward(
        self, residual: Float[Tensor, "batch pos d_model"], *, hook: Hook = untouched
    ) -> Float[Tensor, "batch pos d_model"]:
        """What all heads together add to the residual stream. The hook is that of `attention`."""
        n_pos, d_head = residual.shape[1], self.W_Q.shape[-1]
        z = written_out.attention(
            _project(residual, self.W_Q, self.b_Q),
            _project(residual, self.W_K, self.b_K),
            _project(residual, self.W_V, self.b_V),
            scale=d_head**-0.5,
            mask=causal_mask(n_pos, n_pos).to(residual.device) if self.is_causal else None,
            hook=hook,
        )
        out = einsum(z, self.W_O, "batch head pos d_head, head d_head d_model -> batch pos d_model")
        return out + self.b_O


def _weight(*shape: int, n_inputs: int) -> nn.Parameter:
    return nn.Parameter(torch.randn(shape) * n_inputs**-0.5)


def _project(
    residual: Float[Tensor, "batch pos d_model"],
    weight: Float[Tensor, "head d_model d_head"],
    bias: Float[Tensor, "head d_head"],
) -> Float[Tensor, "batch head pos d_head"]:
    projected = einsum(
        residual, weight, "batch pos d_model, head d_model d_head -> batch head pos d_head"
    )
    return projected + bias[:, None]
