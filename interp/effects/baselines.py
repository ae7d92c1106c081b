"""What a removed head gives instead: a value, with the name that stands in every row."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from interp.encode import Batch
from interp.items import Item
from interp.models.walk import Layer


@runtime_checkable
class Baseline(Protocol):
    """Gives, for each place at which a head is removed, which row of a table stands there instead.

    Attributes:
        name: as it stands in tables.
    """

    @property
    def name(self) -> str:
        """As it stands in tables."""
        ...

    def donors(self, batch: Batch) -> Int[Tensor, " item"] | None:
        """The item from whose run each item is given something; None where no run gives."""
        ...

    def labels(
        self,
        items: Sequence[Item],
        ids: Int[Tensor, "item pos"],
        donor_nodes: Int[Tensor, "item pos"],
    ) -> Int[Tensor, "item pos"]:
        """Which row of the table stands at each position."""
        ...

    def table(self, layer: Layer) -> Float[Tensor, "label head d_head"]:
        """What there is to put in."""
        ...


@dataclass(frozen=True)
class Resample:
    """The head's output in the paired counterfactual run, at the same position: interchange."""

    name: str = "resample"

    def donors(self, batch: Batch) -> Int[Tensor, " item"] | None:
        """Each item's counterfactual."""
        return batch.donor

    def labels(
        self,
        items: Sequence[Item],
        ids: Int[Tensor, "item pos"],
        donor_nodes: Int[Tensor, "item pos"],
    ) -> Int[Tensor, "item pos"]:
        """The donor's node at the same position."""
        return donor_nodes

    def table(self, layer: Layer) -> Float[Tensor, "label head d_head"]:
        """z of the intact run."""
        return layer.z


@dataclass(frozen=True)
class ResampleRandom:
    """The head's output on another item of the same template and length, drawn at random.

    Who gives to whom depends on the items and the seed, and not on their order.
    """

    seed: int
    name: str = "resample_random"

    def donors(self, batch: Batch) -> Int[Tensor, " item"] | None:
        """Another item of the template, each giving once.

        Raises:
            ValueError: a template has one text only at this length.
        """
        donor = torch.arange(len(batch))
        generator = np.random.default_rng(self.seed)
        by_template: dict[str, list[int]] = {}
        for row, item in enumerate(batch.items):
            by_template.setdefault(item.template_id, []).append(row)
        for template in sorted(by_template):
            rows = sorted(by_template[template], key=lambda row: batch.items[row].item_id)
            turned = _derangement(batch.ids[rows], generator)
            if turned is None:
                raise ValueError(
                    f"template {template} has too few different texts of {batch.ids.shape[1]} "
                    "tokens to draw another for each; give more items, or another baseline."
                )
            donor[rows] = torch.tensor(rows)[turned]
        return donor

    labels = Resample.labels
    table = Resample.table


@dataclass(frozen=True)
class Zero:
    """Nothing. That also removes what the head writes on every prompt, as a bias would.

    On an edge: what the head takes over it is left out and the rest of the row stays, without
    another softmax (`zero_edge`).
    """

    name: str = "zero"

    def donors(self, batch: Batch) -> Int[Tensor, " item"] | None:
        """No run gives."""
        return None

    def labels(
        self,
        items: Sequence[Item],
        ids: Int[Tensor, "item pos"],
        donor_nodes: Int[Tensor, "item pos"],
    ) -> Int[Tensor, "item pos"]:
        """The same everywhere."""
        return torch.zeros_like(ids)

    def table(self, layer: Layer) -> Float[Tensor, "label head d_head"]:
        """Zeros."""
        return torch.zeros_like(layer.z[:1])


@dataclass(frozen=True)
class Renormalised:
    """On an edge only: its keys are closed, and the rest of the row renormalises (`close_edge`)."""

    name: str = "renormalised"

    donors = Zero.donors
    labels = Zero.labels
    table = Zero.table


@dataclass(frozen=True, eq=False)
class Mean:
    """The head's mean output over a declared reference set, the same at all positions.

    Made by `means.mean_over`.

    Attributes:
        name: says over what.
        texts: the reference set, as tokens; items under test must not be among them.
        z: one entry a layer.
    """

    name: str
    texts: frozenset[tuple[int, ...]]
    z: Sequence[Float[Tensor, "head d_head"]]

    donors = Zero.donors
    labels = Zero.labels

    def table(self, layer: Layer) -> Float[Tensor, "label head d_head"]:
        """The layer's mean."""
        return self.z[layer.index][None].to(layer.z)


@dataclass(frozen=True, eq=False)
class PositionMean:
    """The head's mean output at each position of each template of a declared reference set.

    Made by `means.mean_by_position`.

    Attributes:
        name, texts: as in `Mean`.
        row_of: for each template and length in tokens, its first row in `z`; the others follow.
        z: one entry a layer.
    """

    name: str
    texts: frozenset[tuple[int, ...]]
    row_of: dict[tuple[str, int], int]
    z: Sequence[Float[Tensor, "row head d_head"]]

    donors = Zero.donors

    def labels(
        self,
        items: Sequence[Item],
        ids: Int[Tensor, "item pos"],
        donor_nodes: Int[Tensor, "item pos"],
    ) -> Int[Tensor, "item pos"]:
        """The template's row at each position.

        Raises:
            ValueError: a template at this length is not in the reference set.
        """
        length = ids.shape[1]
        first = []
        for item in items:
            if (item.template_id, length) not in self.row_of:
                raise ValueError(
                    f"template {item.template_id} with {length} tokens is not in the reference "
                    f"set of {self.name!r}; add reference items of it, or use `mean_over`."
                )
            first.append(self.row_of[item.template_id, length])
        return torch.tensor(first)[:, None] + torch.arange(length)

    def table(self, layer: Layer) -> Float[Tensor, "label head d_head"]:
        """The layer's means."""
        return self.z[layer.index].to(layer.z)


def require_disjoint(baseline: Baseline, batch: Batch) -> None:
    """A mean that has seen the items under test carries some of what it should remove.

    Raises:
        ValueError: an item is in the reference set.
    """
    texts: frozenset[tuple[int, ...]] = getattr(baseline, "texts", frozenset())
    for item, ids in zip(batch.items, batch.ids.tolist(), strict=True):
        if tuple(ids) in texts:
            raise ValueError(
                f"item {item.item_id} is in the reference set of {baseline.name!r}; "
                "a reference set must be disjoint from the items under test."
            )


def _derangement(
    ids: Int[Tensor, "item pos"], generator: np.random.Generator
) -> Int[np.ndarray, " item"] | None:
    """An order in which no item stands at a place that holds the same text."""
    n_items = len(ids)
    for _ in range(1000):
        order = generator.permutation(n_items)
        if not bool((ids[order] == ids).all(1).any()):
            return order
    return None
