"""Items and what stands instead of a removed head: halves of a task that serve each other."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from interp.effects.baselines import Baseline, Resample
from interp.effects.means import mean_by_position
from interp.encode import Batch
from interp.items import Corruption, Item
from interp.models.model import Model


@dataclass(frozen=True, eq=False, kw_only=True)
class Fold:
    """Items under test, and a baseline that takes information away from them.

    A mean over other items, nothing, or a resample from pairs whose counterfactual takes away what
    decides the answer.

    Raises:
        ValueError: the baseline is a resample and a counterfactual turns the answer into the foil:
            that is no removal, and its effects are on another scale.
    """

    batches: Sequence[Batch]
    baseline: Baseline

    def __post_init__(self) -> None:
        if not isinstance(self.baseline, Resample):
            return
        for item in self.items:
            if item.corruption is not Corruption.REMOVAL:
                came = item.corruption or "an unnamed change"
                raise ValueError(
                    f"item {item.item_id} is corrupted by {came}, "
                    f"so a resample from its pair is no removal; give items of the corruption "
                    f"{str(Corruption.REMOVAL)!r}, a mean (see `mean_folds`), or Zero()."
                )

    @property
    def items(self) -> list[Item]:
        """The items under test."""
        return [item for batch in self.batches for item in batch.items]


def mean_folds(model: Model, batches: Sequence[Batch]) -> list[Fold]:
    """Both halves of the items, each with the mean of the other by template and position.

    Raises:
        ValueError: see `halves`.
    """
    one, other = halves(batches)
    return [
        Fold(batches=half, baseline=mean_by_position(model, reference, name="the other half"))
        for half, reference in ((one, other), (other, one))
    ]


def halves(batches: Sequence[Batch]) -> tuple[list[Batch], list[Batch]]:
    """Items in two halves, each a reference for the other: clusters whole, templates in both.

    In each template, at each length, clusters go to the two halves in turn, those of one cell of
    the design after another, so that the halves have as many of each. In a crossed design the way
    with more clusters is the one that is kept whole.

    Raises:
        ValueError: a template has a single cluster at a length.
    """
    chosen = [_first_half(batch) for batch in batches]
    return (
        [
            batch.reordered(first.nonzero()[:, 0])
            for batch, first in zip(batches, chosen, strict=True)
        ],
        [
            batch.reordered((~first).nonzero()[:, 0])
            for batch, first in zip(batches, chosen, strict=True)
        ],
    )


def _first_half(batch: Batch) -> torch.Tensor:
    by_template: dict[str, list[int]] = defaultdict(list)
    for row, item in enumerate(batch.items):
        by_template[item.template_id].append(row)
    is_first = torch.zeros(len(batch), dtype=torch.bool)
    for template, rows in by_template.items():
        clusters = _clusters(batch, rows)
        if len(clusters) < 2:
            raise ValueError(
                f"template {template} has a single cluster of items with {batch.ids.shape[1]} "
                "tokens, so there is no other half to average over; give more items."
            )
        for members in clusters[::2]:
            is_first[members] = True
    return is_first


def _clusters(batch: Batch, rows: Sequence[int]) -> list[list[int]]:
    """The clusters of some rows, in the way of the design that has more of them, cell by cell."""
    ways = []
    for way in (0, -1):
        members: dict[str, list[int]] = defaultdict(list)
        for row in rows:
            members[batch.items[row].clusters[way]].append(row)
        ways.append(members)
    widest = max(ways, key=len)

    def cells(name: str) -> list[list[tuple[str, str]]]:
        return sorted(sorted(batch.items[row].labels.items()) for row in widest[name])

    return [widest[name] for name in sorted(widest, key=lambda name: (cells(name), name))]
