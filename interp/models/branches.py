"""Rows of a forest run as one sequence, each seeing its own prefix."""

from dataclasses import dataclass, field

import numpy as np
import torch
from einops import rearrange
from jaxtyping import Float, Int
from torch import Tensor

from interp.attention import masked, pattern_of
from interp.models.blocks import Slice, slices
from interp.models.forest import Forest
from interp.models.plain import Call
from interp.models.rows import Over, Stored
from interp.models.template import Template


@dataclass(frozen=True, eq=False)
class _Cut:
    """A slice on the model's device; `options` are those of each kind of attention, cut to it."""

    slice: Slice
    rows: Int[Tensor, "block query"]
    own: Int[Tensor, "block own"]
    stored: Int[Tensor, "block stored"]
    options: dict[int, dict[str, Tensor | None]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, kw_only=True)
class Branches:
    """Some nodes of a forest as one sequence.

    Attributes:
        nodes, positions, n_lanes: as in `Rows`.
        cuts: the rows in blocks.
        place: where each row stands among the blocks laid side by side.
    """

    nodes: Int[Tensor, " row"]
    positions: Int[Tensor, " row"]
    cuts: tuple[_Cut, ...]
    place: Int[Tensor, " row"]
    n_lanes: int = 1

    def gathered(self, stored: Stored | None) -> list[Stored]:
        """The keys and values of the intact run that each slice sees."""
        if stored is None:
            return []
        return [
            Stored(*(part[cut.stored].permute(2, 0, 1, 3).contiguous() for part in stored))
            for cut in self.cuts
        ]

    def attend(
        self, call: Call, template: Template, stored: list[Stored], over: Over | None = None
    ) -> Float[Tensor, "variant head row d_head"]:
        """z of all rows of all variants, or what `over` asks for instead."""
        parts = [
            self._attend(cut, call, template, stored[number] if stored else None, over)
            for number, cut in enumerate(self.cuts)
        ]
        together = parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)
        return together.index_select(1, self.place).transpose(1, 2)

    def _attend(
        self, cut: _Cut, call: Call, template: Template, stored: Stored | None, over: Over | None
    ) -> Float[Tensor, "variant row_of_slice head d_head"]:
        n_variants, n_kv_heads = len(call.query), call.key.shape[1]
        n_own, n_queries = cut.own.shape[1], cut.rows.shape[1]
        query = rearrange(
            _taken(call.query, cut.rows),
            "variant block query (kv group) d -> kv block variant (group query) d",
            kv=n_kv_heads,
        )
        key, value = (
            _taken(part, cut.own).permute(3, 1, 0, 2, 4) for part in (call.key, call.value)
        )
        scores = query @ key.mT
        if stored is not None:
            shared = query.flatten(2, 3) @ stored.key.mT
            scores = torch.cat([scores, torch.unflatten(shared, 2, (n_variants, -1))], dim=-1)
        given = template.options[call.layer]
        tables = _tables(cut, template, call.layer, n_kv_heads)
        scores = torch.unflatten(scores.mul_(given["scale"]), 3, (-1, n_queries))
        scores = masked(scores, softcap=given.get("softcap"), **tables)
        if over is not None and over.is_closed:
            scores = scores.masked_fill(_chosen(over, cut), -torch.inf)
        sinks = given.get("sinks")
        pattern = pattern_of(
            scores, None if sinks is None else sinks.view(n_kv_heads, 1, 1, -1, 1, 1)
        )
        if over is not None and not over.is_closed:
            pattern = pattern * _chosen(over, cut)
        pattern = pattern.flatten(3, 4)
        z = pattern[..., :n_own] @ value
        if stored is not None:
            shared = pattern[..., n_own:].flatten(2, 3) @ stored.value
            z = z + torch.unflatten(shared, 2, (n_variants, -1))
        return rearrange(
            z,
            "kv block variant (group query) d -> variant (block query) (kv group) d",
            query=n_queries,
        )


def branches(
    grown: Forest,
    nodes: Int[np.ndarray, " row"],
    *,
    own: Int[np.ndarray, " node"],
    stored: Int[np.ndarray, " node"],
    n_variants: int,
    device: torch.device,
) -> Branches:
    """Nodes of a forest as rows (see `slices`)."""

    def there(array: np.ndarray) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(device)

    cuts = slices(grown, nodes, own=own, stored=stored, n_variants=n_variants)
    laid = np.concatenate([cut.rows.ravel() for cut in cuts])
    place = np.empty(len(nodes), dtype=np.int64)
    place[laid] = np.arange(len(laid))  # rows that pad a block stand there twice, all the same
    return Branches(
        nodes=there(stored[nodes]),
        positions=there(grown.depth[nodes]),
        cuts=tuple(_Cut(cut, there(cut.rows), there(cut.own), there(cut.stored)) for cut in cuts),
        place=there(place),
    )


def _taken(
    part: Float[Tensor, "variant head row d"], places: Int[Tensor, "block place"]
) -> Float[Tensor, "variant block place head d"]:
    """Rows of each block; heads of a row lie side by side in memory, so whole rows are copied."""
    by_row = part.transpose(1, 2)
    return torch.unflatten(by_row.index_select(1, places.flatten()), 1, tuple(places.shape))


def _tables(cut: _Cut, template: Template, layer: int, n_kv_heads: int) -> dict[str, Tensor | None]:
    """Mask and bias of a layer at the positions of a slice; axes as those of the scores."""
    kind = template.kinds[layer]
    if kind not in cut.options:
        given = template.options[layer]
        mask = None if template.sees_all_before[kind] else given.get("mask")
        here = {
            name: None if table is None else _at(table, cut, n_kv_heads)
            for name, table in (("mask", mask), ("bias", given.get("bias")))
        }
        if not cut.slice.sees.all():
            sees = torch.from_numpy(cut.slice.sees).to(cut.rows.device)[None, :, None, None]
            here["mask"] = sees if here["mask"] is None else here["mask"] & sees
        cut.options[kind] = here
    return cut.options[kind]


def _at(table: Tensor, cut: _Cut, n_kv_heads: int) -> Tensor:
    """A table of queries and keys, or of keys alone, read at a slice's positions."""
    query_at, key_at = (
        torch.from_numpy(at).to(table.device) for at in (cut.slice.query_at, cut.slice.key_at)
    )
    if table.shape[2] == 1:
        query_at = torch.zeros_like(query_at[:, :1])
    read = table[0][:, query_at[:, :, None], key_at[:, None, :]]
    if len(read) == 1:
        return read[:, :, None, None]
    return rearrange(
        read, "(kv group) block query key -> kv block 1 group query key", kv=n_kv_heads
    )


def _chosen(over: Over, cut: _Cut) -> Tensor:
    keys = torch.from_numpy(cut.slice.key_at).to(cut.rows.device)
    rows = over.keys[cut.rows]
    return rows.gather(2, keys[:, None].expand(-1, rows.shape[1], -1))[None, :, None, None]
