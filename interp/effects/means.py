"""Means of what heads give, over a reference set that is not under test."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from interp.effects.baselines import Mean, PositionMean
from interp.encode import Batch
from interp.models.model import Model
from interp.models.routes import route
from interp.models.walk import Ground, ground, walk


def mean_over(model: Model, reference: Sequence[Batch], *, name: str) -> Mean:
    """Each head's mean output over all positions of the reference set, special ones excluded.

    Args:
        name: of the reference set; it stands in every row of effects.

    Raises:
        ValueError: there is no reference item.
    """
    _require_items(reference)
    total: list[Tensor] = []
    n_counted = 0
    for batch in reference:
        counted = ~batch.special
        n_counted += int(counted.sum())
        for index, layer in enumerate(walk(start := _ground(model, batch))):
            at = torch.from_numpy(start.grown.node_of)[counted].to(layer.z.device)
            weight = torch.bincount(at, minlength=len(layer.z)).to(layer.z)
            here = torch.einsum("n,nhd->hd", weight, layer.z)
            if index == len(total):
                total.append(torch.zeros_like(here))
            total[index] += here
    return Mean(
        name=f"mean over {name}", texts=_texts(reference), z=[each / n_counted for each in total]
    )


def mean_by_position(model: Model, reference: Sequence[Batch], *, name: str) -> PositionMean:
    """Each head's mean output at each position of each template of the reference set.

    Raises:
        ValueError: there is no reference item.
    """
    _require_items(reference)
    row_of: dict[tuple[str, int], int] = {}
    parts: list[list[Tensor]] = []
    n_rows = 0
    for batch in reference:
        length = batch.ids.shape[1]
        templates = np.array([item.template_id for item in batch.items])
        start = _ground(model, batch)
        nodes = torch.from_numpy(start.grown.node_of).to(start.embedded.device)
        for template in sorted(set(templates)):
            row_of[str(template), length] = n_rows
            n_rows += length
        for index, layer in enumerate(walk(start)):
            if index == len(parts):
                parts.append([])
            for template in sorted(set(templates)):
                rows = torch.from_numpy(templates == template)
                parts[index].append(_mean(layer.z[nodes[rows.to(nodes.device)]]))
    return PositionMean(
        name=f"mean by template and position over {name}",
        texts=_texts(reference),
        row_of=row_of,
        z=[torch.cat(each) for each in parts],
    )


def _mean(
    z: Float[Tensor, "item pos head d_head"],
) -> Float[Tensor, "pos head d_head"]:
    return z.mean(0)


def _ground(model: Model, batch: Batch) -> Ground:
    everything = torch.full((len(batch),), batch.ids.shape[1])
    shares = route(model.plain).shares_prefixes
    return ground(model.plain, batch.ids, everything, shares=shares)


def _texts(reference: Sequence[Batch]) -> frozenset[tuple[int, ...]]:
    return frozenset(tuple(ids) for batch in reference for ids in batch.ids.tolist())


def _require_items(reference: Sequence[Batch]) -> None:
    if not sum(len(batch) for batch in reference):
        raise ValueError("a mean needs a reference set of at least one item, got none.")
