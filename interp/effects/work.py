"""What has to be computed again when heads are removed somewhere: rows, edits, and who gives."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from interp.effects.baselines import Baseline, Renormalised, Resample, ResampleRandom, Zero
from interp.effects.scopes import AnyScope, edge_keys, edited_positions, is_edge
from interp.encode import Batch
from interp.models.branches import branches
from interp.models.forest import Forest, forest, paired
from interp.models.plain import Plain
from interp.models.rows import Over, Rows, WholeItems
from interp.models.walk import Ground, ground


class Reading(NamedTuple):
    """Rows of the intact run that are read for what they take over an edge.

    Attributes:
        place: for each item, the row that is read for it.
    """

    rows: Rows
    over: Over
    place: Int[Tensor, " item"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Work:
    """Some items of a batch under one scope and baseline.

    Attributes:
        items: rows of the batch.
        start: the intact run of these items and of those that give to them.
        rows: what is computed again: every row that sees an edited one and may be seen in turn.
        edited: which of these rows are edited.
        label: what each row is given, a row of the baseline's table; −1 for nothing.
        read: the row at which each item's answer is read.
        intact, corrupt: the nodes at which each item's answer is read in the intact run, and that
            of its counterfactual.
        over: the keys of the edge, for each row; None where whole outputs are replaced.
        taking: for an edge, the rows that are read for what the items take over it.
        giving: those of their donors; None where nothing is put on the edge.
    """

    batch: Batch
    baseline: Baseline
    items: Int[Tensor, " item"]
    start: Ground
    rows: Rows
    edited: Bool[Tensor, " row"]
    label: Int[Tensor, " row"]
    read: Int[Tensor, " item"]
    intact: Int[Tensor, " item"]
    corrupt: Int[Tensor, " item"]
    over: Over | None
    taking: Reading | None
    giving: Reading | None

    @property
    def n_rows(self) -> int:
        """How many rows each variant computes again."""
        return len(self.rows.nodes)


def prepare(
    plain: Plain,
    batch: Batch,
    scope: AnyScope,
    baseline: Baseline,
    items: Int[Tensor, " item"],
    *,
    shares: bool,
    rows_a_batch: int,
) -> Work:
    """What it takes to remove heads on some items of a batch.

    Args:
        shares: whether prompts share the rows of common prefixes, and only active rows are run.

    Raises:
        ValueError: an item names no position or edge to edit, its edit would change nothing, or
            the baseline does not fit the scope.
    """
    _require_fit(scope, baseline)
    cast = _Cast(batch, baseline, items)
    start = ground(plain, batch.ids[cast.present], cast.n_positions, shares=shares)
    nodes = torch.from_numpy(start.grown.node_of)
    query = batch.query[items]
    over_keys = edge_keys(scope, batch)[items] if is_edge(scope) else None

    places = edited_positions(scope, batch)[items]
    if over_keys is not None:
        labels = torch.arange(len(items))[:, None].expand_as(places)
    else:
        labels = baseline.labels(
            [batch.items[row] for row in items.tolist()], batch.ids[items], nodes[cast.giver]
        )
        if cast.gives:  # what a donor with the same prefix gives is there already
            places = places & ((labels != nodes[cast.mine]) | (cast.giver == cast.mine)[:, None])
    if shares:
        places = places & (torch.arange(places.shape[1]) <= query[:, None])
    _require_edits(places, batch, items, scope, baseline)

    marked = torch.where(places, labels, -1)
    if shares:
        rows, label, read, keys = _active_rows(
            start, nodes[cast.mine], marked, query, over_keys, rows_a_batch
        )
    else:
        rows, label, read, keys = _all_rows(start, nodes[cast.mine], marked, query, over_keys)
    device = start.embedded.device
    taking = giving = None
    if over_keys is not None:
        taking = _reading(start, cast.mine, query, over_keys)
        giving = _reading(start, cast.giver, query, over_keys) if cast.gives else None
    return Work(
        batch=batch,
        baseline=baseline,
        items=items,
        start=start,
        rows=rows,
        edited=(label >= 0).to(device),
        label=label.to(device),
        read=read.to(device),
        intact=nodes[cast.mine, query].to(device),
        corrupt=nodes[cast.partner, batch.query[batch.donor[items]]].to(device),
        over=None if keys is None else Over(keys.to(device), isinstance(baseline, Renormalised)),
        taking=taking,
        giving=giving,
    )


def intervention_name(scope: AnyScope, baseline: Baseline) -> str:
    """The name of the operation: two operations on an edge have two names."""
    if is_edge(scope) and isinstance(baseline, Zero):
        return "zero_edge"
    return "close_edge" if isinstance(baseline, Renormalised) else "ablate"


class _Cast:
    """Who is in the intact run: the items, their counterfactuals, and who gives to them.

    Numbers of `mine`, `partner` and `giver` are places in `present`.
    """

    def __init__(self, batch: Batch, baseline: Baseline, items: Int[Tensor, " item"]) -> None:
        donors = baseline.donors(batch)
        partners = batch.donor[items]
        givers = items if donors is None else donors[items]
        self.gives = donors is not None
        self.present = torch.unique(torch.cat([items, partners, givers]))
        place = torch.zeros(len(batch), dtype=torch.long)
        place[self.present] = torch.arange(len(self.present))
        self.mine, self.partner, self.giver = place[items], place[partners], place[givers]
        self.n_positions = batch.query[self.present] + 1
        at_least = batch.query[items] + 1  # an item is given what stands at its own positions
        self.n_positions.scatter_reduce_(0, self.giver, at_least, "amax")


_Prepared = tuple[Rows, Tensor, Tensor, Tensor | None]


def _active_rows(
    start: Ground,
    nodes: Int[Tensor, "item pos"],
    marked: Int[Tensor, "item pos"],
    query: Int[Tensor, " item"],
    over_keys: Bool[Tensor, "item pos"] | None,
    rows_a_batch: int,
) -> _Prepared:
    """The nodes of prefix and edit that are edited, or see one that is: a closed set."""
    grown = forest(paired(nodes.clamp(min=0), marked), query + 1)
    at = (grown.item, grown.depth)
    active = _reached(marked, grown).nonzero()[0]
    own = np.full(len(grown), -1)
    own[active] = np.arange(len(active))
    rows = branches(
        grown,
        active,
        own=own,
        stored=nodes.numpy()[at],
        n_variants=max(1, rows_a_batch // len(active)),
        device=start.embedded.device,
    )
    item = grown.item[active]
    read = own[grown.node_of[np.arange(len(query)), query.numpy()]]
    label = marked.numpy()[at][active]
    keys = None if over_keys is None else over_keys[item]
    return rows, torch.from_numpy(label), torch.from_numpy(read), keys


def _reached(marked: Int[Tensor, "item pos"], grown: Forest) -> Bool[np.ndarray, " node"]:
    """Nodes that are edited, or have an edited one before them, which they see."""
    reached: np.ndarray = np.logical_or.accumulate(marked.numpy() >= 0, axis=1)
    at_nodes: np.ndarray = reached[grown.item, grown.depth]
    return at_nodes


def _all_rows(
    start: Ground,
    nodes: Int[Tensor, "item pos"],
    marked: Int[Tensor, "item pos"],
    query: Int[Tensor, " item"],
    over_keys: Bool[Tensor, "item pos"] | None,
) -> _Prepared:
    n_items, length = nodes.shape
    rows = WholeItems(nodes=nodes.flatten().to(start.embedded.device), n_lanes=n_items)
    keys = None if over_keys is None else over_keys.repeat_interleave(length, dim=0)
    return rows, marked.flatten(), torch.arange(n_items) * length + query, keys


def _reading(
    start: Ground,
    reader: Int[Tensor, " item"],
    query: Int[Tensor, " item"],
    over_keys: Bool[Tensor, "item pos"],
) -> Reading:
    nodes, device = torch.from_numpy(start.grown.node_of), start.embedded.device
    if not start.is_shared:
        rows, _, place, keys = _all_rows(start, nodes[reader], nodes[reader], query, over_keys)
        assert keys is not None
        return Reading(rows, Over(keys.to(device), is_closed=False), place.to(device))
    everything = np.arange(len(start.grown))
    readers = branches(
        start.grown,
        nodes[reader, query].numpy(),
        own=np.full(len(start.grown), -1),
        stored=everything,
        n_variants=1,
        device=device,
    )
    place = torch.arange(len(query), device=device)
    return Reading(readers, Over(over_keys.to(device), is_closed=False), place)


def _require_fit(scope: AnyScope, baseline: Baseline) -> None:
    if is_edge(scope) and not isinstance(baseline, Resample | ResampleRandom | Zero | Renormalised):
        raise ValueError(
            f"{baseline.name!r} says nothing of what a head takes over one edge; for "
            f"{str(scope)!r} give Resample(), ResampleRandom(), Zero() or Renormalised()."
        )
    if isinstance(baseline, Renormalised) and not is_edge(scope):
        raise ValueError(
            f"only an edge can be closed and the rest renormalised, got the scope {str(scope)!r}; "
            "use Scope.EDGE or Scope.DISTRACTOR_EDGE."
        )


def _require_edits(
    places: Bool[Tensor, "item pos"],
    batch: Batch,
    items: Int[Tensor, " item"],
    scope: AnyScope,
    baseline: Baseline,
) -> None:
    """An edit that cannot change anything would be an effect of 0 that nobody measured."""
    untouched = items[~places.any(1)]
    if len(untouched):
        raise ValueError(
            f"on item {batch.items[int(untouched.min())].item_id} nothing would change: at no "
            f"position of {str(scope)!r} up to its query is {baseline.name!r} another value than "
            "the head's own; leave the item out, or choose another scope or baseline."
        )
