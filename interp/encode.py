"""Items to ids: token positions of spans, answers in context, pairs side by side."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from interp.items import Item, Span
from interp.tokens import continuation, covering, in_place_of, text_tokens
from interp.words import require_word


@dataclass(frozen=True, kw_only=True)
class Edges:
    """A further relation of a batch's items: where it starts, and where attention belongs.

    Both are empty for an item that does not declare it.
    """

    query: Bool[Tensor, "item pos"]
    source: Bool[Tensor, "item pos"]

    def of(self, rows: Int[Tensor, " row"]) -> "Edges":
        """Those of some rows."""
        return Edges(query=self.query[rows], source=self.source[rows])


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Items of equal length in tokens, each with its counterfactual among them.

    Attributes:
        items: in the order of the rows.
        ids: tokens, prefix included.
        donor: the row of each item's counterfactual.
        query: the position at which the answer is read.
        source, distractor, special: where these tokens are. `special` are prefix, suffix and
            position 0, which take attention whatever the text says.
        answer, foil: their token ids.
        relations: the further relations that items declare, by name.
    """

    items: tuple[Item, ...]
    ids: Int[Tensor, "item pos"]
    donor: Int[Tensor, " item"]
    query: Int[Tensor, " item"]
    source: Bool[Tensor, "item pos"]
    distractor: Bool[Tensor, "item pos"]
    special: Bool[Tensor, "item pos"]
    answer: Int[Tensor, " item"]
    foil: Int[Tensor, " item"]
    relations: dict[str, Edges] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.items)

    @property
    def first_difference(self) -> int:
        """The first position at which any item differs from its counterfactual."""
        differs = (self.ids != self.ids[self.donor]).any(0)
        return int(differs.nonzero()[0])

    @property
    def edge(self) -> Bool[Tensor, "item pos"]:
        """Where the source is, in the item or in its counterfactual: the keys of the edge.

        A role flip moves the source from one slot to the other, and a head that follows it takes
        from the one what it gave to the other; replacing the first slot alone would show half.
        """
        return self.source | self.source[self.donor]

    def reordered(self, rows: Int[Tensor, " row"]) -> "Batch":
        """The same items in another order, or fewer of them with their counterfactuals."""
        place = {int(row): new for new, row in enumerate(rows)}
        return Batch(
            items=tuple(self.items[row] for row in place),
            ids=self.ids[rows],
            donor=torch.tensor([place[int(row)] for row in self.donor[rows]]),
            query=self.query[rows],
            source=self.source[rows],
            distractor=self.distractor[rows],
            special=self.special[rows],
            answer=self.answer[rows],
            foil=self.foil[rows],
            relations={name: edges.of(rows) for name, edges in self.relations.items()},
        )

    def first(self, n_items: int) -> "Batch":
        """The first items, extended by what completes their pairs."""
        few = range(min(n_items, len(self)))
        return self.reordered(torch.tensor(sorted({*few, *self.donor[: len(few)].tolist()})))

    def thinned(self, step: int) -> "Batch":
        """Every so many-th pair, both directions, in the order in which they stand."""
        firsts = [row for row, other in enumerate(self.donor.tolist()) if row < other]
        kept = firsts[::step]
        return self.reordered(torch.tensor(sorted({*kept, *self.donor[kept].tolist()})))


def with_few_tokens(batches: Sequence[Batch], n_tokens: int, *, a_template: int = 1) -> list[Batch]:
    """As many pairs as have no more tokens in all, the same share of every batch, evenly taken.

    Args:
        a_template: the pairs of each template in a batch that are kept at least, about, even where
            there are more tokens then.
    """
    step = ceil(sum(batch.ids.numel() for batch in batches) / n_tokens)
    fewest = min(
        count // 2
        for batch in batches
        for count in Counter(item.template_id for item in batch.items).values()
    )
    step = max(1, min(step, fewest // a_template))
    return list(batches) if step == 1 else [batch.thinned(step) for batch in batches]


@dataclass(frozen=True, kw_only=True)
class _Encoded:
    item: Item
    ids: list[int]
    source: list[int]
    distractor: list[int]
    special: list[int]
    query: int
    answer: int
    foil: int
    relations: dict[str, tuple[list[int], list[int]]]


def encode(
    items: Sequence[Item], tokenizer: Any, *, before: Sequence[int], after: Sequence[int] = ()
) -> list[Batch]:
    """Items as batches, one for each length in tokens, under a prefix.

    Raises:
        ValueError: a pair of unequal lengths or without a difference, an item whose counterfactual
            is not among the items, an answer that is not one token in context, or a span whose
            tokens do not contain its words.
    """
    if not items:
        raise ValueError("expected at least one pair, got no items.")
    groups: dict[int, list[_Encoded]] = defaultdict(list)
    for item in items:
        encoded = _encode(item, tokenizer, list(before), list(after))
        groups[len(encoded.ids)].append(encoded)
    return [_batch(groups[length]) for length in sorted(groups)]


def positions_of(span: Span, text: str, tokenizer: Any) -> list[int]:
    """The tokens of a text that cover a span, checked by decoding them.

    Raises:
        ValueError: the tokens, decoded, do not contain the span's words.
    """
    positions, decoded = covering(span, text, tokenizer)
    require_word(span, text, decoded)
    return positions


def token_in_context(text: str, word: str, tokenizer: Any) -> int:
    """The id of a word that follows a text, tokenised together with it.

    Raises:
        ValueError: it is more than one token, or changes the tokens before it.
    """
    added = continuation(text, word, tokenizer)
    if added is None or len(added) != 1:
        pieces = [tokenizer.decode([token]) for token in text_tokens(word, tokenizer)[0]]
        raise ValueError(
            f"{word!r} is not one token after {text!r} (alone it reads {pieces}); "
            "give a continuation that is one token, with its leading space if it has one."
        )
    return added[0]


def _encode(item: Item, tokenizer: Any, before: list[int], after: list[int]) -> _Encoded:
    text = item.clean_text
    ids, _ = text_tokens(text, tokenizer)
    other, _ = text_tokens(item.corrupt_text, tokenizer)
    if len(ids) != len(other):
        raise ValueError(
            f"item {item.item_id} has {len(ids)} tokens and its counterfactual {len(other)}; "
            "the two texts of a pair must be equally long in tokens."
        )
    if ids == other:
        raise ValueError(f"the two texts of item {item.item_id} are the same tokens.")
    shift = len(before)
    whole = before + ids + after
    specials = [0, *range(shift), *range(shift + len(ids), len(whole))]

    def places(spans: Sequence[Span]) -> list[int]:
        return [shift + place for span in spans for place in positions_of(span, text, tokenizer)]

    query = shift + len(ids) - 1 if item.query is None else places([item.query])[-1]
    return _Encoded(
        item=item,
        ids=whole,
        source=places(item.source),
        distractor=places(item.distractors),
        special=sorted(set(specials)),
        query=query,
        answer=_answer_id(item, item.answer_text, tokenizer),
        foil=_answer_id(item, item.foil_text, tokenizer),
        relations={
            each.name: (places([each.query]), places(each.source)) for each in item.relations
        },
    )


def _answer_id(item: Item, word: str, tokenizer: Any) -> int:
    """The token of an answer: after the query, or in the place of a mask that is the query."""
    if item.query is None:
        return token_in_context(item.clean_text, word, tokenizer)
    if item.clean_text[slice(*item.query)] != tokenizer.mask_token:
        return token_in_context(item.clean_text[: item.query.end], word, tokenizer)
    pieces = in_place_of(item.query, item.clean_text, word, tokenizer)
    if len(pieces) != 1:
        read = [tokenizer.decode([piece]) for piece in pieces]
        raise ValueError(
            f"{word!r} is {len(pieces)} pieces {read} at the mask of {item.clean_text!r}; give an "
            "answer that is one piece."
        )
    return pieces[0]


def _batch(rows: list[_Encoded]) -> Batch:
    row_of = {(row.item.pair_id, row.item.clean_text): place for place, row in enumerate(rows)}
    donors = []
    for row in rows:
        donor = row_of.get((row.item.pair_id, row.item.corrupt_text))
        if donor is None:
            raise ValueError(
                f"the counterfactual of item {row.item.item_id} is not among the items; "
                "give both directions of each pair."
            )
        donors.append(donor)
    length = len(rows[0].ids)

    def marked(places: Sequence[Sequence[int]]) -> Bool[Tensor, "item pos"]:
        mask = np.zeros((len(rows), length), dtype=bool)
        for row, columns in enumerate(places):
            mask[row, list(columns)] = True
        return torch.from_numpy(mask)

    names = sorted({name for row in rows for name in row.relations})
    return Batch(
        items=tuple(row.item for row in rows),
        ids=torch.tensor([row.ids for row in rows]),
        donor=torch.tensor(donors),
        query=torch.tensor([row.query for row in rows]),
        source=marked([row.source for row in rows]),
        distractor=marked([row.distractor for row in rows]),
        special=marked([row.special for row in rows]),
        answer=torch.tensor([row.answer for row in rows]),
        foil=torch.tensor([row.foil for row in rows]),
        relations={
            name: Edges(
                query=marked([row.relations.get(name, ([], []))[0] for row in rows]),
                source=marked([row.relations.get(name, ([], []))[1] for row in rows]),
            )
            for name in names
        },
    )
