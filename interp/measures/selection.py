"""Which word does a head look at? From a word of natural text to the one that it belongs to."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import pandas as pd
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from interp.encode_text import TextBatch, all_items
from interp.measures.battery import read_patterns
from interp.measures.relations import sink_corrected
from interp.measures.tables import score_table
from interp.models.plain import Plain


@dataclass(frozen=True, kw_only=True)
class Selections:
    """What each head selects for each item, `[item, layer, head]`.

    Attributes:
        batches: the items, in order.
        open: 1 where, of all words but the query's own and the special ones, the source gets most.
        among: the same among source and distractors alone; NaN for items without a distractor.
        decoy: 1 where instead of the source it is the distractor matched with it that gets most
            among the candidates; NaN as `among`. Without a role for the source it is as often.
        raw: attention to the source, a probability; the greatest of several.
        sink_mass: attention to special tokens and position 0.
        corrected: `raw` as a share of what does not go there; NaN where less than .001 is left.
    """

    batches: tuple[TextBatch, ...]
    open: Float[Tensor, "item layer head"]
    among: Float[Tensor, "item layer head"]
    decoy: Float[Tensor, "item layer head"]
    raw: Float[Tensor, "item layer head"]
    sink_mass: Float[Tensor, "item layer head"]
    corrected: Float[Tensor, "item layer head"]


NAMES = ("open", "among", "decoy", "raw", "sink_mass", "corrected")


def selections(
    plain: Plain,
    batches: Sequence[TextBatch],
    *,
    query_aggregate: Literal["mean", "last"],
) -> Selections:
    """Word-level attention of every head on every item.

    A word receives what its tokens receive, in sum. It gives the mean of its tokens' rows, or in a
    causal model the row of its last token, the only one to have seen the whole word. In a causal
    model words behind the query get 0 and are never selected: leave such items out.

    Source: Clark et al. 2019, arXiv:1906.04341, sections 4 and 5.
    """
    parts: list[Tensor] = []
    for batch in batches:
        rows: list[Tensor] = []

        def read(
            layer: int, pattern: Tensor, batch: TextBatch = batch, into: list[Tensor] = rows
        ) -> None:
            into.append(word_rows(pattern[0], batch, query_aggregate=query_aggregate))

        read_patterns(plain, torch.tensor([batch.ids]), read)
        parts.append(selected(torch.stack(rows, dim=1), batch))
    whole = torch.cat(parts)
    raw, sink_mass = whole[..., 3], whole[..., 4]
    return Selections(
        batches=tuple(batches),
        open=whole[..., 0],
        among=whole[..., 1],
        decoy=whole[..., 2],
        raw=raw,
        sink_mass=sink_mass,
        corrected=sink_corrected(raw, sink_mass),
    )


def selection_scores(found: Selections) -> pd.DataFrame:
    """The selections as rows: `measure`, `layer`, `head`, `item_id`, `value`, `valid`."""
    item_ids = [item.item_id for item in all_items(found.batches)]
    tables = [score_table(name, getattr(found, name), item_ids) for name in NAMES]
    return pd.concat(tables, ignore_index=True)


def word_rows(
    pattern: Float[Tensor, "head query key"],
    batch: TextBatch,
    *,
    query_aggregate: Literal["mean", "last"],
) -> Float[Tensor, "item head word"]:
    """The rows of the items' queries between words: `word_pattern`, where it is needed alone."""
    n_tokens, n_words = pattern.shape[-1], len(batch.groups)
    receives = torch.zeros(n_tokens, n_words, dtype=pattern.dtype)
    for number, group in enumerate(batch.groups):
        receives[list(group), number] = 1
    gives = torch.zeros(len(batch), n_tokens, dtype=pattern.dtype)
    for number, query in enumerate(batch.query):
        tokens = list(batch.groups[query])
        tokens = tokens if query_aggregate == "mean" else tokens[-1:]
        gives[number, tokens] = 1 / len(tokens)
    return (gives @ pattern @ receives).transpose(0, 1)


def selected(
    rows: Float[Tensor, "item *head word"], batch: TextBatch
) -> Float[Tensor, "item *head 5"]:
    """For each item and head: open, among, decoy, raw and sink mass (see `Selections`)."""
    n_words = rows.shape[-1]
    found = []
    for number, row in enumerate(rows):
        source = _marked(batch.source[number], n_words)
        others = _marked(batch.distractors[number], n_words)
        special = _marked(batch.special, n_words)
        closed = special | _marked((batch.query[number],), n_words)
        best = row.masked_fill(closed, -1.0).argmax(-1)
        open_ = source[best].float()
        if others.any():
            best = row.masked_fill(~(source | others), -1.0).argmax(-1)
            among = source[best].float()
            decoy = (best == matched(batch, number)).float()
        else:
            among = decoy = torch.full_like(open_, torch.nan)
        raw = (row * source).amax(-1)
        found.append(torch.stack([open_, among, decoy, raw, (row * special).sum(-1)], dim=-1))
    return torch.stack(found)


def matched(batch: TextBatch, number: int) -> int:
    """The distractor that stands nearest to a source of the item; −1 where there is none."""
    pairs = (
        (abs(other - source), other)
        for other in batch.distractors[number]
        for source in batch.source[number]
    )
    return min(pairs, default=(0, -1))[1]


def _marked(words: Sequence[int], n_words: int) -> Bool[Tensor, " word"]:
    mask = torch.zeros(n_words, dtype=torch.bool)
    mask[list(words)] = True
    return mask
