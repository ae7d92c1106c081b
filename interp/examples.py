"""A few items in full: what every head attends to there, and what its removal does to the answer.

This is what a page shows of single items; all other figures are of all items.
"""

from collections.abc import Iterator, Sequence

import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor

from interp.encode import Batch
from interp.measures.direct import projected
from interp.measures.norms import lengths
from interp.models.direct import value_readings
from interp.models.model import Model
from interp.models.record import Record, record
from interp.models.undefined import UndefinedError

MOST_CELLS = 100_000
"""How many heads × tokens × items there are at most, unless one pair alone has more."""
MOST_TOKENS = 64
LEAST_TOKENS = 8
OTHERS = -1
"""The position at which what all tokens together get stands that are not shown."""
MEASURES = ("raw", "norm_share", "projected")


def examples(
    model: Model, batches: Sequence[Batch], effects: pd.DataFrame
) -> dict[str, pd.DataFrame]:
    """The first pair of each template, both directions, as far as there is room; four tables.

    - `examples`, a row an item: `item_id`, `template_id`, `answer`, `foil`, the metric on the item
      (`intact`) and on its counterfactual (`corrupt`), `n_tokens`, and how many are `left_out`.
    - `example_tokens`, a row a token shown: `item_id`, `position`, `token`, and whether it
      `is_source`, `is_distractor`, `is_query`, `is_special`. Of long prompts these and the tokens
      that some head attends to most are shown.
    - `example_effects`, a row a head and item: `effect_everywhere`, `effect_query`, `effect_edge`
      as far as measured; intact − edited, in units of the metric.
    - `example_attention`, a row a head, item and token shown: from the query, the probability
      `raw`; `norm_share`, the share of the length of all that the head takes that comes from the
      token; `projected`, what comes from it straight to the logits, answer less foil, NaN where
      heads do not add up to the logits. Position −1 has the sum over the tokens left out.

    Args:
        effects: from `sweep`.
    """
    n_heads = model.n_layers * model.n_heads
    most_tokens = min(MOST_TOKENS, max(LEAST_TOKENS, MOST_CELLS // (2 * n_heads)))
    items, tokens, attention = [], [], []
    for batch in _first_pairs(batches, most_tokens=most_tokens, room=MOST_CELLS // n_heads):
        found = _attention(record(model.plain, batch))
        for row in range(len(batch)):
            places = _shown(found[0][row], batch, row, most_tokens)
            items.append(_item(batch, row, len(places)))
            tokens.append(_tokens(model, batch, row, places))
            attention.append(_cells([values[row] for values in found], batch, row, places))
    table = pd.DataFrame(items)
    of_items = effects[effects["item_id"].isin(table["item_id"])]
    outcome = of_items.groupby("item_id")[["intact", "corrupt"]].first()
    return {
        "examples": table.join(outcome, on="item_id"),
        "example_tokens": pd.concat(tokens, ignore_index=True),
        "example_effects": _effects(of_items),
        "example_attention": pd.concat(attention, ignore_index=True),
    }


def _first_pairs(batches: Sequence[Batch], *, most_tokens: int, room: int) -> Iterator[Batch]:
    """The first pair of each template while there is room for its tokens; of each batch together.

    The first of all is taken whether there is room or not.
    """
    seen: set[str] = set()
    for batch in batches:
        rows: set[int] = set()
        n_tokens = 2 * min(most_tokens, batch.ids.shape[1])
        for row, item in enumerate(batch.items):
            if item.template_id not in seen and (room >= n_tokens or not seen):
                seen.add(item.template_id)
                rows |= {row, int(batch.donor[row])}
                room -= n_tokens
        if rows:
            yield batch.reordered(torch.tensor(sorted(rows)))


def _attention(record: Record) -> list[Float[Tensor, "item layer head key"]]:
    """What each of `MEASURES` gives every key; NaN where the model has no such number."""
    pattern = torch.stack(record.pattern, dim=1).float()
    found = [pattern]
    for measured in (_norm_share, _projected):
        try:
            found.append(measured(record))
        except UndefinedError:
            found.append(torch.full_like(pattern, torch.nan))
    return found


def _norm_share(record: Record) -> Float[Tensor, "item layer head key"]:
    outputs = [stream.output for stream in record.streams]
    layers = zip(record.pattern, record.value, outputs, strict=True)
    taken = torch.stack([lengths(*layer) for layer in layers], dim=1).float()
    return taken / taken.sum(-1, keepdim=True)


def _projected(record: Record) -> Float[Tensor, "item layer head key"]:
    layers = zip(record.pattern, record.value, value_readings(record), strict=True)
    return torch.stack([projected(*layer) for layer in layers], dim=1).float()


def _shown(
    pattern: Float[Tensor, "layer head key"], batch: Batch, row: int, most: int
) -> Int[Tensor, " shown"]:
    """The positions to show: all, or those that have a role, and then the most attended."""
    marked = batch.source[row] | batch.distractor[row] | batch.special[row]
    marked = marked.clone()
    marked[batch.query[row]] = True
    greatest = pattern.amax((0, 1)).masked_fill(marked, torch.inf)
    n_shown = max(min(most, len(greatest)), int(marked.sum()))
    positions, _ = greatest.topk(n_shown).indices.sort()
    return positions


def _item(batch: Batch, row: int, n_shown: int) -> dict[str, object]:
    item = batch.items[row]
    n_tokens = batch.ids.shape[1]
    return {
        "item_id": item.item_id,
        "template_id": item.template_id,
        "answer": item.answer_text,
        "foil": item.foil_text,
        "n_tokens": n_tokens,
        "left_out": n_tokens - n_shown,
    }


def _tokens(model: Model, batch: Batch, row: int, places: Int[Tensor, " shown"]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "item_id": batch.items[row].item_id,
            "position": places.numpy(),
            "token": [model.tokenizer.decode([token]) for token in batch.ids[row, places].tolist()],
            "is_source": batch.source[row, places].numpy(),
            "is_distractor": batch.distractor[row, places].numpy(),
            "is_query": (places == batch.query[row]).numpy(),
            "is_special": batch.special[row, places].numpy(),
        }
    )


def _cells(
    values: Sequence[Float[Tensor, "layer head key"]],
    batch: Batch,
    row: int,
    places: Int[Tensor, " shown"],
) -> pd.DataFrame:
    """Every head and token shown, to four decimals; and the rest, where there is one."""
    n_layers, n_heads, n_keys = values[0].shape
    positions = places.tolist() + ([OTHERS] if len(places) < n_keys else [])
    index = pd.MultiIndex.from_product(
        [[batch.items[row].item_id], range(n_layers), range(n_heads), positions],
        names=["item_id", "layer", "head", "position"],
    )
    columns = {}
    for name, of_keys in zip(MEASURES, values, strict=True):
        kept = of_keys[..., places]
        if OTHERS in positions:
            rest = of_keys.sum(-1, keepdim=True) - kept.sum(-1, keepdim=True)
            kept = torch.cat([kept, rest], dim=-1)
        columns[name] = kept.cpu().flatten().numpy().round(4)
    return pd.DataFrame(columns, index=index).reset_index()


def _effects(effects: pd.DataFrame) -> pd.DataFrame:
    wide = effects.assign(effect=effects["intact"] - effects["edited"]).pivot(
        index=["item_id", "layer", "head"], columns="scope", values="effect"
    )
    wide.columns = [f"effect_{scope}" for scope in wide.columns]
    return wide.reset_index()
