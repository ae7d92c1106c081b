"""The intact run of many prompts, one layer at a time: nothing is kept but the layer at hand."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from interp.models.branches import branches
from interp.models.forest import Forest, forest, unshared
from interp.models.plain import Call, Plain
from interp.models.rows import Over, Rows, Stored, WholeItems, as_lanes, by_lane, by_row
from interp.models.template import Template, embedded, template


@dataclass(frozen=True, eq=False, kw_only=True)
class Ground:
    """Prompts of one length, ready to be run.

    Attributes:
        grown: which node each position of each prompt is.
        rows: all nodes.
        embedded: what the first layer is given.
    """

    template: Template
    grown: Forest
    rows: Rows
    embedded: Float[Tensor, "node d_model"]

    @property
    def is_shared(self) -> bool:
        """Whether prompts share the rows of their common prefixes."""
        return not isinstance(self.rows, WholeItems)


@dataclass(frozen=True, eq=False, kw_only=True)
class Layer:
    """One layer of the intact run.

    Attributes:
        before, after: the residual stream.
        query, key, value: post-rotary.
        z: each head's output before the output projection.
    """

    index: int
    before: Float[Tensor, "node d_model"]
    after: Float[Tensor, "node d_model"]
    query: Float[Tensor, "node head d_head"]
    key: Float[Tensor, "node kv_head d_head"]
    value: Float[Tensor, "node kv_head d_head"]
    z: Float[Tensor, "node head d_head"]

    @property
    def stored(self) -> Stored:
        """What rows that are not computed again answer with."""
        return Stored(self.key, self.value)


def ground(
    plain: Plain,
    ids: Int[Tensor, "item pos"],
    n_positions: Int[Tensor, " item"],
    *,
    shares: bool,
) -> Ground:
    """Prompts as a forest up to the positions that are wanted, or each by itself.

    Args:
        shares: whether prompts share the rows of common prefixes (see `routes.shares_prefixes`).
    """
    device = plain.module.device
    with torch.inference_mode():
        states = embedded(plain, ids.to(device))
    grown = forest(ids.cpu(), n_positions.cpu()) if shares else unshared(*ids.shape)
    nodes = np.arange(len(grown))
    rows: Rows
    if shares:
        rows = branches(grown, nodes, own=nodes, stored=nodes, n_variants=1, device=device)
    else:
        rows = WholeItems(nodes=torch.from_numpy(nodes).to(device), n_lanes=len(ids))
    first = (torch.from_numpy(where).to(device) for where in (grown.item, grown.depth))
    return Ground(
        template=template(plain, ids.shape[1]),
        grown=grown,
        rows=rows,
        embedded=states[tuple(first)],
    )


def walk(start: Ground) -> Iterator[Layer]:
    """Run the layers, from the first to the last."""
    hidden = start.embedded
    for index in range(len(start.template.arguments)):
        layer = _run(start, index, hidden)
        yield layer
        hidden = layer.after


def _run(start: Ground, index: int, hidden: Float[Tensor, "node d_model"]) -> Layer:
    seen: list[tuple[Call, Tensor]] = []

    def attend(call: Call) -> Tensor:
        z = start.rows.attend(replace(call, layer=index), start.template, [])
        seen.append((call, z))
        return z

    with torch.inference_mode():
        after = start.template.run_layer(
            index, as_lanes(hidden[None], start.rows), attend, rows=start.rows.positions
        )
    ((call, z),) = seen
    query, key, value, z = (
        by_row(part, start.rows)[0] for part in (call.query, call.key, call.value, z)
    )
    return Layer(
        index=index,
        before=hidden,
        after=after.flatten(0, 1),
        query=query,
        key=key,
        value=value,
        z=z,
    )


def gathered_over(
    layer: Layer, start: Ground, rows: Rows, over: Over
) -> Float[Tensor, "row head d_head"]:
    """What rows of the intact run gather from some keys, or with these closed."""
    with torch.inference_mode():
        query, key, value = (
            by_lane(part[rows.nodes][None], rows) for part in (layer.query, layer.key, layer.value)
        )
        call = Call(layer.index, query, key, value, start.template.options[layer.index])
        z = rows.attend(call, start.template, rows.gathered(layer.stored), over)
    return by_row(z, rows)[0]
