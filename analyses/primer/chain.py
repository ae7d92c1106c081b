"""A source whose entropy is known, and a small model of it with a mask that leaks or does not."""

from collections.abc import Callable
from functools import partial

import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from analyses.primer.training import OneLayer, fit, seeded


class Chain:
    """A Markov chain over a few symbols: a source whose entropy is known.

    Attributes:
        entropy: of the next symbol given the last, in nats: no honest model has a lower loss.
    """

    N_SYMBOLS, N_POS = 8, 24

    def __init__(self, *, seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        logits = 1.5 * torch.randn(self.N_SYMBOLS, self.N_SYMBOLS, generator=generator)
        self._steps = logits.softmax(-1)
        standing = torch.linalg.matrix_power(self._steps.double(), 200)[0]
        of_row = torch.special.entr(self._steps.double()).sum(-1)
        self.entropy = float((standing * of_row).sum())
        self._standing = standing.float()

    def draw(self, n_items: int, generator: torch.Generator) -> Int[Tensor, "item pos"]:
        """Sequences that begin as the chain does in the long run."""
        at = torch.multinomial(self._standing, n_items, replacement=True, generator=generator)
        symbols = [at]
        for _ in range(self.N_POS):
            at = torch.multinomial(self._steps[at], 1, generator=generator)[:, 0]
            symbols.append(at)
        return torch.stack(symbols, dim=1)


class NextSymbol(nn.Module):
    """A one-layer language model of a chain, with the right mask or without one."""

    D_MODEL = 32

    def __init__(self, *, is_causal: bool) -> None:
        super().__init__()
        self.symbol = nn.Embedding(Chain.N_SYMBOLS, self.D_MODEL)
        self.place = nn.Embedding(Chain.N_POS, self.D_MODEL)
        self.layer = OneLayer(
            d_model=self.D_MODEL, d_head=16, n_heads=2, n_out=Chain.N_SYMBOLS, is_causal=is_causal
        )

    def forward(self, ids: Int[Tensor, "item pos"]) -> Float[Tensor, "item pos symbol"]:
        """Logits of the next symbol at each position."""
        logits: Tensor = self.layer(self.symbol(ids) + self.place.weight[: ids.shape[1]])
        return logits

    def loss(self, ids: Int[Tensor, "item pos"]) -> Tensor:
        """Of all positions at once, as in training."""
        logits = self(ids[:, :-1])
        return nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())

    def loss_in_use(self, ids: Int[Tensor, "item pos"]) -> Tensor:
        """Of each position with nothing behind it, as when a text is generated."""
        losses = [
            nn.functional.cross_entropy(self(ids[:, :end])[:, -1], ids[:, end])
            for end in range(1, ids.shape[1])
        ]
        return torch.stack(losses).mean()


def training(*, n_seeds: int, n_steps: int, seed: int) -> pd.DataFrame:
    """Small models with either mask: `series, seed, step, loss, in_use, entropy`, ten times."""
    rows = []
    series: tuple[tuple[str, bool], ...] = (("causal mask", True), ("leaking mask", False))
    for number_of_seed in range(n_seeds):
        drawn = 1000 * seed + number_of_seed
        chain = Chain(seed=drawn)
        for name, is_causal in series:
            model = seeded(drawn, partial(NextSymbol, is_causal=is_causal))
            generator = torch.Generator().manual_seed(drawn)
            tested = chain.draw(256, torch.Generator().manual_seed(drawn + 500))
            step = 0
            for tenth in range(1, 11):
                fit(
                    model,
                    _loss_of(model, chain, generator),
                    n_steps=n_steps // 10,
                    learning_rate=1e-2 if tenth < 8 else 2e-3,
                )
                step += n_steps // 10
                with torch.no_grad():
                    rows.append(
                        {
                            "series": name,
                            "seed": number_of_seed,
                            "step": step,
                            "loss": model.loss(tested).item(),
                            "in_use": model.loss_in_use(tested).item(),
                            "entropy": chain.entropy,
                        }
                    )
    return pd.DataFrame(rows)


def _loss_of(
    model: NextSymbol, chain: Chain, generator: torch.Generator
) -> Callable[[int], Tensor]:
    return lambda step: model.loss(chain.draw(64, generator))
