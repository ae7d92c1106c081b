"""Two small models of equal size that are asked for one of several pairs: a GRU and attention."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from analyses.primer.rule import Estimate
from analyses.primer.training import OneLayer, fit, n_parameters, seeded

D_MODEL, N_KEYS, N_VALUES, N_NOISE = 32, 8, 8, 8
NO_GRADIENT = 1e-9
"""A gradient of less, in logits per unit, is counted as this."""
SERIES = ("attention, one layer", "GRU")


class Recall(nn.Module):
    """Pairs of a key and a value, noise, and one of the keys: what was its value?

    A pair is one vector, the sum of its embedded key and value; the question is a key without one.
    Nothing says where a vector stands, so that distance is nothing but distance.
    """

    def __init__(self, series: str) -> None:
        super().__init__()
        self.key = nn.Embedding(N_KEYS, D_MODEL)
        self.value = nn.Embedding(N_VALUES + 1, D_MODEL)  # the last: no value, but a question
        self.noise = nn.Embedding(N_NOISE, D_MODEL)
        self.core = (
            OneLayer(d_model=D_MODEL, d_head=48, n_heads=1, n_out=N_VALUES, is_causal=True)
            if series == SERIES[0]
            else Recurrent()
        )

    def stream(
        self, keys: Int[Tensor, "item pair"], values: Int[Tensor, "item pair"],
        noise: Int[Tensor, "item filler"], asked: Int[Tensor, "item 1"],
    ) -> Float[Tensor, "item pos d_model"]:  # fmt: skip
        """What the model is given."""
        question = self.key(keys.gather(1, asked)) + self.value(torch.full_like(asked, N_VALUES))
        return torch.cat([self.key(keys) + self.value(values), self.noise(noise), question], dim=1)

    def answers(self, stream: Float[Tensor, "item pos d_model"]) -> Float[Tensor, "item value"]:
        """Logits at the question."""
        logits: Tensor = self.core(stream)[:, -1]
        return logits


class Recurrent(nn.Module):
    """A GRU with a linear readout, and the norm that the attention model has."""

    def __init__(self) -> None:
        super().__init__()
        self.state = nn.GRU(D_MODEL, D_MODEL, batch_first=True)
        self.norm = nn.LayerNorm(D_MODEL)
        self.readout = nn.Linear(D_MODEL, N_VALUES)

    def forward(self, stream: Float[Tensor, "item pos d_model"]) -> Float[Tensor, "item pos value"]:
        """Logits at every position."""
        logits: Tensor = self.readout(self.norm(self.state(stream)[0]))
        return logits


def drawn(
    n_items: int, n_pairs: int, distance: int, generator: torch.Generator
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Keys (no two alike), values, noise and which pair is asked for."""
    keys = torch.rand(n_items, N_KEYS, generator=generator).argsort(1)[:, :n_pairs]
    values = torch.randint(N_VALUES, (n_items, n_pairs), generator=generator)
    noise = torch.randint(N_NOISE, (n_items, distance), generator=generator)
    return keys, values, noise, torch.randint(n_pairs, (n_items, 1), generator=generator)


def recall_table(
    *,
    n_seeds: int,
    n_steps: int,
    distances: tuple[int, ...],
    trained_to: int,
    pairs: tuple[int, ...],
    seed: int,
    advance: Callable[[int], None],
) -> pd.DataFrame:
    """Both models, trained on all numbers of pairs at distances up to `trained_to`, then asked.

    One row a model, seed, number of pairs and distance: `accuracy`; `gradient`, the length of the
    gradient of the right logit at the pair that is asked for; and `first_gradient`, the same before
    any training.
    """
    near = [distance for distance in distances if distance <= trained_to]
    rows = []
    for number_of_seed in range(n_seeds):
        for series in SERIES:
            start = 1000 * seed + number_of_seed
            model = seeded(start, partial(Recall, series))
            first = {
                (n_pairs, distance): asked(model, n_pairs, distance, start)[1]
                for n_pairs in pairs
                for distance in distances
            }
            fit(
                model,
                _loss_of(model, near, pairs, torch.Generator().manual_seed(start)),
                n_steps=n_steps,
                learning_rate=1e-2,
            )
            for n_pairs in pairs:
                for distance in distances:
                    accuracy, gradient = asked(model, n_pairs, distance, start)
                    rows.append(
                        {
                            "series": series,
                            "seed": number_of_seed,
                            "pairs": n_pairs,
                            "distance": distance,
                            "accuracy": accuracy,
                            "gradient": gradient,
                            "first_gradient": first[n_pairs, distance],
                            "n_parameters": n_parameters(model),
                        }
                    )
            advance(1)
    return pd.DataFrame(rows)


def asked(model: Recall, n_pairs: int, distance: int, seed: int) -> tuple[float, float]:
    """Accuracy on fresh items, and the length of the right logit's gradient at the pair.

    The gradient is a mean of lengths over items, in logits per unit of the input.
    """
    generator = torch.Generator().manual_seed(seed + 500)
    keys, values, noise, place = drawn(256, n_pairs, distance, generator)
    stream = model.stream(keys, values, noise, place).detach().requires_grad_()
    logits = model.answers(stream)
    right = values.gather(1, place)
    (gradient,) = torch.autograd.grad(logits.gather(1, right).sum(), stream)
    at_source = gradient[torch.arange(len(keys)), place[:, 0]].norm(dim=-1).mean()
    accuracy = (logits.argmax(-1) == right[:, 0]).float().mean()
    return accuracy.item(), at_source.item()


def gradient_gap(small: pd.DataFrame, column: str, near: int, far: int) -> Estimate:
    """How many powers of ten a gradient loses from near to far, the GRU's less attention's."""
    table = small[small["pairs"] == 2].pivot(
        index="seed", columns=["series", "distance"], values=column
    )
    lost = {
        series: np.log10(table[series, near]) - np.log10(table[series, far].clip(lower=NO_GRADIENT))
        for series in SERIES
    }
    return Estimate.mean((lost[SERIES[1]] - lost[SERIES[0]]).to_numpy())


def _loss_of(
    model: Recall, distances: list[int], pairs: tuple[int, ...], generator: torch.Generator
) -> Callable[[int], Tensor]:
    def loss(step: int) -> Tensor:
        n_pairs, distance = pairs[step % len(pairs)], distances[step // len(pairs) % len(distances)]
        keys, values, noise, place = drawn(64, n_pairs, distance, generator)
        logits = model.answers(model.stream(keys, values, noise, place))
        return nn.functional.cross_entropy(logits, values.gather(1, place)[:, 0])

    return loss
