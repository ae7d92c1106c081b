"""What a softmax makes of its scores, with 1/√d_k and without: random vectors, trained heads."""

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor

from analyses.primer.lookup import ARMS
from analyses.primer.rule import Estimate
from analyses.primer.texts import next_token_losses
from interp.heads import Head
from interp.measures.spread import entropy
from interp.models import Model
from interp.models.plain import Call, attend

WIDTHS = (8, 16, 32, 64, 128, 256, 512, 1024)
N_KEYS = 64
LEAST_KEYS = 8
"""Rows of a text with fewer keys are left out: their variance says little."""


def softmax_rows(scores: Float[Tensor, "*rows key"]) -> dict[str, Float[Tensor, "*rows"]]:
    """Of each row of scores: their variance, and what the softmax makes of them.

    `variance`; `entropy` as a share of even attention's; `largest` weight; `gradient`, the
    Frobenius norm of the Jacobian diag(p) − p pᵀ: √(Σp² − 2Σp³ + (Σp²)²). Closed keys are −inf.
    """
    is_open = scores.isfinite()
    n_open = is_open.sum(-1)
    mean = scores.masked_fill(~is_open, 0).sum(-1) / n_open
    deviation = (scores - mean[..., None]).masked_fill(~is_open, 0)
    p = scores.double().softmax(-1)
    second, third = p.square().sum(-1), p.pow(3).sum(-1)
    return {
        "variance": deviation.square().sum(-1) / (n_open - 1),
        "entropy": entropy(p) / n_open.clamp(min=2).double().log(),
        "largest": p.amax(-1),
        "gradient": (second - 2 * third + second.square()).clamp(min=0).sqrt(),
    }


def random_vectors(*, n_repeats: int, n_rows: int, seed: int) -> pd.DataFrame:
    """Rows of 64 keys with queries and keys of unit variance, a row a draw, d_k and arm."""
    rows = []
    for repeat in range(n_repeats):
        generator = torch.Generator().manual_seed(1000 * seed + repeat)
        for width in WIDTHS:
            query = torch.randn(n_rows, 1, width, generator=generator)
            key = torch.randn(n_rows, N_KEYS, width, generator=generator)
            products = (query @ key.mT)[:, 0]
            for series, scale in ((ARMS[0], width**-0.5), (ARMS[1], 1.0)):
                found = softmax_rows(scale * products)
                rows.append(
                    {
                        "repeat": repeat,
                        "series": series,
                        "d_k": width,
                        **{name: values.mean().item() for name, values in found.items()},
                        "median_gradient": found["gradient"].median().item(),
                    }
                )
    return pd.DataFrame(rows)


def slopes(random: pd.DataFrame, series: str) -> Float[np.ndarray, " repeat"]:
    """The slope of log variance in log d_k, for each draw."""
    rows = random[random["series"] == series]
    return np.array(
        [
            np.polyfit(np.log(draw["d_k"]), np.log(draw["variance"]), 1)[0]
            for _, draw in rows.groupby("repeat")
        ]
    )


def trained_heads(model: Model, ids: Int[Tensor, "text pos"]) -> pd.DataFrame:
    """The heads of a model on ordinary prose, as they are and with the factor left out.

    One row a head: medians over rows of text, `variance` of q·k over d_k, and `gradient`,
    `largest`, `entropy` with the factor, and `…_without` it.
    """
    rows: list[dict[str, object]] = []

    def read(call: Call) -> Tensor:
        kept: list[Tensor] = []

        def keep(name: str, tensor: Tensor) -> Tensor:
            if name == "scores":
                kept.append(tensor)
            return tensor

        hooked = Call(call.layer, call.query, call.key, call.value, call.options | {"hook": keep})
        z = attend(hooked)
        scale, d_head = call.options["scale"], call.query.shape[-1]
        enough = kept[0].isfinite().sum(-1) >= LEAST_KEYS
        arms = {"": softmax_rows(kept[0]), "_without": softmax_rows(kept[0] / scale)}
        for head in range(call.query.shape[1]):
            rows.append(
                {
                    "model": model.name,
                    "layer": call.layer,
                    "head": head,
                    "label": Head(call.layer, head).label,
                    "variance": (
                        arms["_without"]["variance"][:, head][enough[:, head]].median() / d_head
                    ).item(),
                    **{
                        f"{name}{arm}": found[name][:, head][enough[:, head]].median().item()
                        for arm, found in arms.items()
                        for name in ("gradient", "largest", "entropy")
                    },
                }
            )
        return z

    with torch.inference_mode(), model.plain.attending(read):
        model.plain.states(ids)
    return pd.DataFrame(rows)


def without_factor(model: Model, ids: Int[Tensor, "text pos"]) -> tuple[Estimate, Estimate]:
    """The loss of a trained model on prose, and how much it rises when the factor is left out."""

    def unscaled(call: Call) -> Tensor:
        options = call.options | {"scale": 1.0}
        return attend(Call(call.layer, call.query, call.key, call.value, options))

    intact = next_token_losses(model, ids)
    return Estimate.mean(intact), Estimate.mean(next_token_losses(model, ids, unscaled) - intact)
