"""A small model that is asked for what stands at two places, with one head or with two."""

from collections.abc import Callable
from functools import partial

import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from analyses.primer.training import OneLayer, fit, n_parameters, seeded

ONE, TWO = "one head of 32", "two heads of 16"


class TwoQuestions(nn.Module):
    """Asked for what stands at two places, in order: two answers from one layer of attention."""

    N_PLACES, N_SYMBOLS, D_MODEL = 8, 8, 48

    def __init__(self, *, n_heads: int) -> None:
        super().__init__()
        self.symbol = nn.Embedding(self.N_SYMBOLS, self.D_MODEL)
        self.place = nn.Embedding(self.N_PLACES, self.D_MODEL)
        self.first = nn.Embedding(self.N_PLACES, self.D_MODEL)
        self.second = nn.Embedding(self.N_PLACES, self.D_MODEL)
        self.layer = OneLayer(
            d_model=self.D_MODEL,
            d_head=32 // n_heads,
            n_heads=n_heads,
            n_out=2 * self.N_SYMBOLS,
            is_causal=False,
        )

    def answers(
        self, symbols: Int[Tensor, "item place"], asked: Int[Tensor, "item 2"]
    ) -> Float[Tensor, "item symbol 2"]:
        """Logits of the symbol at either place."""
        question = self.first(asked[:, :1]) + self.second(asked[:, 1:])
        stream = torch.cat([self.symbol(symbols) + self.place.weight, question], dim=1)
        logits: Tensor = self.layer(stream)[:, -1].unflatten(-1, (self.N_SYMBOLS, 2))
        return logits

    def drawn(
        self, n_items: int, generator: torch.Generator
    ) -> tuple[Int[Tensor, "item place"], Int[Tensor, "item 2"], Int[Tensor, "item 2"]]:
        """Symbols, two different places, and what stands there."""
        symbols = torch.randint(self.N_SYMBOLS, (n_items, self.N_PLACES), generator=generator)
        asked = torch.rand(n_items, self.N_PLACES, generator=generator).argsort(1)[:, :2]
        return symbols, asked, symbols.gather(1, asked)


def training(*, n_seeds: int, n_steps: int, seed: int) -> pd.DataFrame:
    """Small models with one head and with two: `series, seed, accuracy, n_parameters`."""
    rows = []
    for number_of_seed in range(n_seeds):
        for name, n_heads in ((ONE, 1), (TWO, 2)):
            drawn = 1000 * seed + number_of_seed
            model = seeded(drawn, partial(TwoQuestions, n_heads=n_heads))
            fit(
                model,
                _loss_of(model, torch.Generator().manual_seed(drawn)),
                n_steps=n_steps,
                learning_rate=1e-2,
            )
            symbols, asked, right = model.drawn(2000, torch.Generator().manual_seed(drawn + 500))
            with torch.no_grad():
                is_right = model.answers(symbols, asked).argmax(1) == right
            rows.append(
                {
                    "series": name,
                    "seed": number_of_seed,
                    "accuracy": is_right.float().mean().item(),
                    "n_parameters": n_parameters(model),
                }
            )
    return pd.DataFrame(rows)


def _loss_of(model: TwoQuestions, generator: torch.Generator) -> Callable[[int], Tensor]:
    def loss(step: int) -> Tensor:
        symbols, asked, right = model.drawn(64, generator)
        return nn.functional.cross_entropy(model.answers(symbols, asked), right)

    return loss
