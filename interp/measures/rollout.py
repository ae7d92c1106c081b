"""Rollout: attention followed back through the layers, with half of each step staying in place."""

from collections.abc import Iterator

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from interp.measures.measure import Measure, repeated, where
from interp.models.record import Record

_ABNAR = "Abnar, Zuidema 2020, arXiv:2005.00928"


def rolled(
    pattern: Float[Tensor, "item head query key"], before: Float[Tensor, "item key origin"]
) -> Float[Tensor, "item query origin"]:
    """One layer further: `(½ A + ½ I) R`, A the mean over heads."""
    return 0.5 * (pattern.mean(1) @ before) + 0.5 * before


def rollout(record: Record) -> Float[Tensor, "item layer head"]:
    """How much of the query's stream behind a layer began at the source, 0 to 1; of the layer.

    It knows neither values nor MLPs. In causal models it favours early tokens: see
    `rollout_over_even`.
    """
    source, query = record.batch.source, record.batch.query
    after = _along(record, _patterns(record))
    shares = torch.stack([_from(behind, source, query) for _, behind in after], dim=1)
    return where(source.any(1), repeated(shares, record.z[0].shape[1]))


def head_rollout(record: Record) -> Float[Tensor, "item layer head"]:
    """How much of what a head attends to at the query began at the source, 0 to 1.

    The head's own row, followed back through the mean of all heads below.
    """
    source = record.batch.source
    along = zip(record.pattern, _along(record, _patterns(record)), strict=True)
    shares = [
        (torch.einsum("ihk,iko->iho", row, before) * source[:, None]).sum(-1)
        for row, (before, _) in along
    ]
    return where(source.any(1), torch.stack(shares, dim=1))


def rollout_over_even(record: Record) -> Float[Tensor, "item layer head"]:
    """`rollout` over the rollout of heads that attend evenly to all they may; 1 is no preference.

    It takes out that early tokens are reached along more ways.
    """
    plain, batch = record.plain, record.batch
    even = (allowed.float() / allowed.sum(-1, keepdim=True) for allowed in plain.allowed(batch.ids))
    shares = [_from(behind, batch.source, batch.query) for _, behind in _along(record, even)]
    return rollout(record) / repeated(torch.stack(shares, dim=1), record.z[0].shape[1])


def _from(
    behind: Float[Tensor, "item query origin"],
    source: Bool[Tensor, "item origin"],
    query: Int[Tensor, " item"],
) -> Float[Tensor, " item"]:
    """What of the query's row began at the source."""
    return (behind[torch.arange(len(query)), query] * source).sum(-1)


def _along(
    record: Record, patterns: Iterator[Float[Tensor, "item head query key"]]
) -> Iterator[tuple[Tensor, Tensor]]:
    """The rollout before and behind each layer."""
    n_items, length = record.batch.ids.shape
    before = torch.eye(length).expand(n_items, length, length)
    for pattern in patterns:
        behind = rolled(pattern, before)
        yield before, behind
        before = behind


def _patterns(record: Record) -> Iterator[Float[Tensor, "item head query key"]]:
    """The whole pattern of each layer, its heads averaged on the way so that few are kept."""
    means: list[Tensor] = []

    def read(layer: int, name: str, tensor: Tensor) -> Tensor:
        if name == "pattern":
            means.append(tensor.mean(1, keepdim=True))
        return tensor

    with torch.inference_mode(), record.plain.hooked(read):
        record.plain.states(record.batch.ids)
    return iter(means)


ROLLOUT = Measure(
    name="rollout",
    of=rollout,
    league="pattern only",
    unit="share, 0 to 1",
    chance="none",
    formula="Σ_src R_l[q, j], R_l = (½ mean_h A_l + ½ I) R_(l−1)",
    source=_ABNAR,
    of_layer=True,
)
ROLLOUT_OVER_EVEN = Measure(
    name="rollout_over_even",
    of=rollout_over_even,
    league="pattern only",
    unit="ratio, 0 or more; 1 is no preference",
    chance="none",
    formula="rollout / rollout of even attention over what the mask allows",
    source=f"{_ABNAR}; the ratio here",
    of_layer=True,
)
HEAD_ROLLOUT = Measure(
    name="head_rollout",
    of=head_rollout,
    league="pattern only",
    unit="share, 0 to 1",
    chance="none",
    formula="Σ_src (A_(l,h) R_(l−1))[q, j]",
    source=f"{_ABNAR}; by head here",
)
