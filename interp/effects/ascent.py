"""One way up through the layers, with the intact run and all variants side by side.

A variant is a set of removed heads. It is born in the lowest of their layers, from the intact
residual stream there, and from then on is carried through every layer with the others: resumed
where it first differs, on the rows that it can change, with keys and values of the intact run that
are those of the layer at hand. Nothing is recorded: what the intact run gives in a layer is used
there and let go.
"""

from collections.abc import Callable
from dataclasses import replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from interp.effects.spans import Spans, at_spans
from interp.effects.work import Reading, Work
from interp.models.plain import Call
from interp.models.rows import Stored, as_lanes, by_lane, by_row
from interp.models.walk import Layer, gathered_over, walk

Advance = Callable[[int], None]
Watch = Callable[[int, Int[Tensor, " some"], Float[Tensor, "some item head d_head"]], None]
"""Told of a layer, of some of the variants, and what their heads give at each item's query."""


def ascend(
    work: Work,
    heads: Bool[Tensor, "variant layer head"],
    *,
    rows_a_batch: int,
    words: Spans | None = None,
    advance: Advance = lambda cost: None,
    watch: Watch | None = None,
) -> tuple[Float[Tensor, "variant item *word d_model"], Float[Tensor, "node d_model"]]:
    """The last block's output at each item's query, each variant's heads removed.

    Beside it the intact run's, at all nodes.

    Args:
        heads: which heads each variant removes. A variant that removes none is the intact run
            computed again.
        words: of the items of the work, whole prompts, to be read instead of the query.
        advance: told how many layers of how many variants are done.
        watch: told what the heads of every variant give, from the layer on where it is born.
    """
    variants = _Variants(work, heads, rows_a_batch, watch)
    last: Layer | None = None
    for layer in walk(work.start):
        with torch.inference_mode():
            variants.climb(layer)
        advance(variants.n_alive)
        last = layer
    assert last is not None
    return variants.at_query() if words is None else variants.at_words(words), last.after


class _Variants:
    """All variants' residual streams, those that are not yet born last."""

    def __init__(
        self,
        work: Work,
        heads: Bool[Tensor, "variant layer head"],
        rows_a_batch: int,
        watch: Watch | None,
    ) -> None:
        device, dtype = work.start.embedded.device, work.start.embedded.dtype
        has_any = heads.any(2)
        birth = torch.where(has_any.any(1), has_any.int().argmax(1), 0)
        self._order = birth.argsort(stable=True)
        self._birth = birth[self._order]
        self._heads = heads[self._order].to(device)
        self._work = work
        self._n_a_batch = max(1, rows_a_batch // work.n_rows)
        self._hidden = torch.empty(
            len(heads), work.n_rows, work.start.embedded.shape[1], device=device, dtype=dtype
        )
        self._lanes = torch.arange(work.rows.n_lanes, device=device)
        self._watch = watch
        self.n_alive = 0

    def climb(self, layer: Layer) -> None:
        """Through one layer: those born here start from the intact residual stream."""
        work = self._work
        n_alive = int((self._birth <= layer.index).sum())
        self._hidden[self.n_alive : n_alive] = layer.before[work.rows.nodes]
        self.n_alive = n_alive
        if not n_alive:
            return
        stored = work.rows.gathered(layer.stored)
        given = self._given(layer) if bool(self._heads[:n_alive, layer.index].any()) else None
        for some in torch.split(torch.arange(n_alive), self._n_a_batch):
            here = slice(int(some[0]), int(some[-1]) + 1)
            removed = self._heads[here, layer.index]
            self._hidden[here], z = self._through(layer, self._hidden[here], removed, stored, given)
            if self._watch is not None:
                at_query = by_row(z, work.rows)[:, work.read]
                self._watch(layer.index, self._order[here], at_query)

    def at_query(self) -> Float[Tensor, "variant item d_model"]:
        """Each variant's stream at each item's query, in the order in which they were given."""
        found = torch.empty(
            len(self._order), len(self._work.read), self._hidden.shape[2],
            device=self._hidden.device, dtype=self._hidden.dtype,
        )  # fmt: skip
        found[self._order] = self._hidden[:, self._work.read]
        return found

    def at_words(self, words: Spans) -> Float[Tensor, "variant item word d_model"]:
        """Each variant's stream at words of each item, whose rows are its whole prompt."""
        n_variants, _, width = self._hidden.shape
        of_items = self._hidden.view(n_variants, len(words), -1, width)
        found = torch.empty(
            n_variants, *words.shape[:2], width,
            device=self._hidden.device, dtype=self._hidden.dtype,
        )  # fmt: skip
        for some in torch.split(torch.arange(n_variants), self._n_a_batch):
            found[self._order[some]] = at_spans(of_items[some], words)
        return found

    def _through(
        self,
        layer: Layer,
        hidden: Float[Tensor, "variant row d_model"],
        removed: Bool[Tensor, "variant head"],
        stored: list[Stored],
        given: Float[Tensor, "row head d_head"] | None,
    ) -> tuple[Float[Tensor, "variant row d_model"], Float[Tensor, "lane head row_of_lane d_head"]]:
        """What the layer gives, and what its heads give after their removal."""
        work, template = self._work, self._work.start.template

        acting = removed.any(1).nonzero()[:, 0]
        seen: list[Tensor] = []

        def attend(call: Call) -> Tensor:
            call = replace(call, layer=layer.index)
            z = work.rows.attend(call, template, stored)
            seen.append(z)
            if given is None or not len(acting):
                return z
            lanes = (acting[:, None] * work.rows.n_lanes + self._lanes).flatten()
            own = by_row(z[lanes], work.rows)
            instead = given[None]
            if work.over is not None:
                asked = Call(
                    call.layer, call.query[lanes], call.key[lanes], call.value[lanes], call.options
                )
                over = by_row(work.rows.attend(asked, template, stored, work.over), work.rows)
                instead = over if work.over.is_closed else own - over + instead
            where = removed[acting][:, None, :, None] & work.edited[None, :, None, None]
            z[lanes] = by_lane(torch.where(where, instead, own), work.rows)
            return z

        after = template.run_layer(
            layer.index, as_lanes(hidden, work.rows), attend, rows=work.rows.positions
        )
        (z,) = seen
        return after.reshape(hidden.shape), z

    def _given(self, layer: Layer) -> Float[Tensor, "row head d_head"]:
        """What each edited row is given by the baseline; on an edge, what is put there."""
        work = self._work
        if work.over is None:
            table = work.baseline.table(layer)
        elif work.giving is not None:
            table = taken_over_edge(layer, work, work.giving)
        else:
            return torch.zeros_like(layer.z[work.rows.nodes])
        return table[work.label.clamp(min=0)]


def taken_over_edge(
    layer: Layer, work: Work, reading: Reading
) -> Float[Tensor, "item head d_head"]:
    """What each item's reader takes over the edge in the intact run."""
    rows, over, place = reading
    return gathered_over(layer, work.start, rows, over)[place]
