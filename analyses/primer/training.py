"""Small models trained on the spot: the loop, and the attention model that several claims share."""

from collections.abc import Callable
from typing import TypeVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from interp.attention import Hook, untouched
from interp.multihead import MultiHeadAttention
from interp.threads import one_thread

Made = TypeVar("Made", bound=nn.Module)


class OneLayer(nn.Module):
    """One layer of attention on a stream of given vectors, a residual sum, and a linear readout."""

    def __init__(
        self, *, d_model: int, d_head: int, n_heads: int, n_out: int, is_causal: bool
    ) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(
            d_model=d_model, d_head=d_head, n_heads=n_heads, is_causal=is_causal
        )
        self.norm = nn.LayerNorm(d_model)
        self.readout = nn.Linear(d_model, n_out)

    def forward(
        self, stream: Float[Tensor, "batch pos d_model"], *, hook: Hook = untouched
    ) -> Float[Tensor, "batch pos n_out"]:
        """Logits at every position."""
        out: Tensor = self.readout(self.norm(stream + self.attention(stream, hook=hook)))
        return out


def n_parameters(model: nn.Module) -> int:
    """How many numbers are trained."""
    return sum(parameter.numel() for parameter in model.parameters())


def fit(
    model: nn.Module,
    loss_at: Callable[[int], Tensor],
    *,
    n_steps: int,
    learning_rate: float,
) -> list[float]:
    """Train with Adam, the rate falling to a tenth along a cosine; the loss at each step, in nats.

    Args:
        loss_at: the loss of the batch of a step.
    """
    optimiser = torch.optim.Adam(model.parameters(), lr=learning_rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(
        optimiser, n_steps, eta_min=learning_rate / 10
    )
    losses = []
    with one_thread():
        for step in range(n_steps):
            loss = loss_at(step)
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            schedule.step()
            losses.append(loss.item())
    return losses


def seeded(seed: int, make: Callable[[], Made]) -> Made:
    """A model whose first weights are drawn from a seed, the global generator left as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return make()
