"""Attention that goes to the first token, whatever it is."""

import torch
from jaxtyping import Float
from torch import Tensor

SINK_FROM = 0.3
"""From where on the mean attention to the first token makes a sink."""


def sink_mean(pattern: Float[Tensor, "item head query key"]) -> Float[Tensor, "item head"]:
    """The mean attention to position 0 of all later queries, 0 to 1."""
    return pattern[:, :, 1:, 0].mean(-1)


def sink_gu(pattern: Float[Tensor, "item head query key"]) -> Float[Tensor, "item head"]:
    """The mean attention to position 0 of all queries, its own among them, as published, 0 to 1.

    In a causal model the first query has no other key, so this is never below 1 / length.

    Source: Gu et al. 2024, arXiv:2410.10781, the importance of the first token.
    """
    return pattern[:, :, :, 0].mean(-1)


def is_sink(pattern: Float[Tensor, "item head query key"]) -> Float[Tensor, "item head"]:
    """1 where `sink_gu` is above .3, else 0; its mean over all is the sink rate of a model."""
    return (sink_gu(pattern) > SINK_FROM).to(torch.float32)
