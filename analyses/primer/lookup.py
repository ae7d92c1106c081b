"""A small model that looks up one of 16 pairs, trained with the factor 1/√d_k and without."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from analyses.primer.training import OneLayer, fit, seeded

ARMS = ("with the factor", "without", "without, first queries as much smaller")


class Lookup(nn.Module):
    """Asked for one of 16 keys, the value that stands beside it: one head, one layer.

    A pair is one vector, the sum of what its key and its value are embedded as.
    """

    N_SYMBOLS, N_PAIRS, N_VALUES, D_MODEL = 32, 16, 16, 64

    def __init__(self, *, d_head: int, arm: str) -> None:
        super().__init__()
        self.key = nn.Embedding(self.N_SYMBOLS, self.D_MODEL)
        self.value = nn.Embedding(self.N_VALUES + 1, self.D_MODEL)
        self.layer = OneLayer(
            d_model=self.D_MODEL, d_head=d_head, n_heads=1, n_out=self.N_VALUES, is_causal=False
        )
        # our attention divides by √d_k; queries that are as much longer take that back
        self._lengthen = 1.0 if arm == ARMS[0] else d_head**0.5
        if arm == ARMS[2]:
            with torch.no_grad():
                self.layer.attention.W_Q.mul_(d_head**-0.5)

    def loss(self, generator: torch.Generator, *, n_items: int) -> Tensor:
        """The loss on fresh items."""
        keys = torch.rand(n_items, self.N_SYMBOLS, generator=generator).argsort(1)[
            :, : self.N_PAIRS
        ]
        values = torch.randint(self.N_VALUES, keys.shape, generator=generator)
        asked = torch.randint(self.N_PAIRS, (n_items, 1), generator=generator)
        no_value = torch.full((n_items, 1), self.N_VALUES)
        stream = torch.cat(
            [
                self.key(keys) + self.value(values),
                self.key(keys.gather(1, asked)) + self.value(no_value),
            ],
            dim=1,
        )
        logits = self.layer(stream, hook=self._hook)[:, -1]
        answer = values.gather(1, asked)[:, 0]
        return nn.functional.cross_entropy(logits, answer)

    def _hook(self, name: str, tensor: Tensor) -> Tensor:
        return tensor * self._lengthen if name == "query" else tensor


def training(*, widths: tuple[int, ...], n_seeds: int, n_steps: int, seed: int) -> pd.DataFrame:
    """Models trained in each arm: `series, d_k, seed, step, loss`, means over tenths of the way."""
    rows = []
    for width in widths:
        for number_of_seed in range(n_seeds):
            for arm in ARMS:
                drawn = 1000 * seed + number_of_seed
                model = seeded(drawn, partial(Lookup, d_head=width, arm=arm))
                losses = fit(
                    model,
                    _loss_of(model, torch.Generator().manual_seed(drawn)),
                    n_steps=n_steps,
                    learning_rate=3e-3,
                )
                for tenth, part in enumerate(np.array_split(losses, 10), start=1):
                    step = round(tenth * n_steps / 10)
                    rows.append(
                        {"series": arm, "d_k": width, "seed": number_of_seed, "step": step}
                        | {"loss": float(np.mean(part))}
                    )
    return pd.DataFrame(rows)


def _loss_of(model: Lookup, generator: torch.Generator) -> Callable[[int], Tensor]:
    return lambda step: model.loss(generator, n_items=32)
