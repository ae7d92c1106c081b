"""Rotary position embedding: a query or key turned by an angle proportional to its position."""

import torch
from einops import rearrange
from jaxtyping import Float, Int
from torch import Tensor


def rotary(
    x: Float[Tensor, "batch head pos d_head"],
    cos: Float[Tensor, "#batch pos d_head"],
    sin: Float[Tensor, "#batch pos d_head"],
) -> Float[Tensor, "batch head pos d_head"]:
    """Queries or keys turned to their positions; their dot products then depend on distance only.

    Dimension i is paired with i + d_head / 2, as in Llama; the paper pairs neighbours.

    Source: Su et al. 2021, arXiv:2104.09864.
    """
    first, second = x.chunk(2, dim=-1)
    quarter_turn = torch.cat([-second, first], dim=-1)
    cos, sin = (
        rearrange(table.to(x.dtype), "batch pos d -> batch 1 pos d") for table in (cos, sin)
    )
    return x * cos + quarter_turn * sin


def rotary_angles(
    positions: Int[Tensor, "batch pos"], *, d_head: int, base: float
) -> tuple[Float[Tensor, "batch pos d_head"], Float[Tensor, "batch pos d_head"]]:
    """Cosine and sine of each position's angles, for `rotary`.

    Pair i turns by base ** (-2i / d_head) radians a position. Computed in float32, as the models
    do, and so as inexact as they are at far positions.

    Raises:
        ValueError: `d_head` is odd.
    """
    if d_head % 2:
        raise ValueError(
            f"d_head must be even, since dimensions turn in pairs, got {d_head}; "
            "pass only the dimensions that are rotated."
        )
    exponents = torch.arange(0, d_head, 2, device=positions.device).float() / d_head
    angles = positions[..., None].float() * (1.0 / base**exponents)
    both_halves = torch.cat([angles, angles], dim=-1)
    return both_halves.cos(), both_halves.sin()
