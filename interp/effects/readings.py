"""Metrics of many variants, from the last block's output at each item's query."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from interp.effects.metrics import Metric
from interp.encode import Batch
from interp.models.plain import Plain

ROWS_OF_VOCABULARY = 512
ROWS_OF_COLUMNS = 4096


def try_out(plain: Plain, metrics: Sequence[Metric], batch: Batch) -> None:
    """Metrics on the start of one prompt, as many times as there are items: errors come early.

    Raises:
        ValueError: one gives something else than one finite number a row, or reads logits of a
            model that has none.
    """
    with torch.inference_mode():
        state = plain.last_block(batch.ids[:1, :8])[0, -1]
    n_words = (3,) if any(metric.reads == "words" for metric in metrics) else ()
    states = state.expand(len(batch), *n_words, -1)
    read(plain, metrics, states[None], states, batch, torch.arange(len(batch)))


def read(
    plain: Plain,
    metrics: Sequence[Metric],
    states: Float[Tensor, "variant item *word d_model"],
    intact: Float[Tensor, "item *word d_model"],
    batch: Batch,
    items: Int[Tensor, " item"],
) -> Float[Tensor, "metric variant item"]:
    """Each metric on each variant of each item; only what is needed is unembedded.

    Args:
        states: at the query, or at words of which the query is the first.
        intact: the same in the intact run.
        items: which items of the batch they are.
    """
    n_variants, n_items = states.shape[:2]
    rows = states.flatten(0, 1)
    item = torch.arange(n_items).repeat(n_variants)
    whole = any(metric.needs_vocabulary and metric.reads == "logits" for metric in metrics)
    n_at_once = ROWS_OF_VOCABULARY if whole else ROWS_OF_COLUMNS
    found = [
        _read_rows(plain, metrics, rows[some], intact, item[some], batch, items)
        for some in torch.split(torch.arange(len(rows)), n_at_once)
    ]
    return torch.cat(found, dim=1).view(len(metrics), n_variants, n_items)


def _read_rows(
    plain: Plain,
    metrics: Sequence[Metric],
    of_words: Float[Tensor, "row *word d_model"],
    intact_words: Float[Tensor, "item *word d_model"],
    item: Int[Tensor, " row"],
    batch: Batch,
    items: Int[Tensor, " item"],
) -> Float[Tensor, "metric row"]:
    states, intact = _at_query(of_words), _at_query(intact_words)
    answer, foil = batch.answer[items][item], batch.foil[items][item]
    of_logits = [metric for metric in metrics if metric.reads == "logits"]
    whole = pair = before = None
    with torch.inference_mode():
        if any(metric.needs_vocabulary for metric in of_logits):
            whole = plain.readout(states, None).cpu()
            if any(metric.needs_intact for metric in of_logits):
                distinct, place = torch.unique(item, return_inverse=True)
                before = plain.readout(intact[distinct.to(intact.device)], None).cpu()[place]
        elif of_logits:
            columns = torch.stack([answer, foil], dim=1).to(states.device)
            pair = plain.readout(states, columns).cpu()
        values = []
        for metric in metrics:
            if metric.reads == "words":
                values.append(metric(of_words.cpu(), answer, foil))
            elif metric.reads == "states":
                known = intact[item.to(intact.device)].cpu()
                values.append(metric(states.cpu(), answer, foil, known))
            elif whole is not None:
                values.append(metric(whole, answer, foil, before))
            else:
                assert pair is not None
                first = torch.zeros_like(answer)
                values.append(metric(pair, first, first + 1))
    return torch.stack(values)


def _at_query(states: Float[Tensor, "row *word d_model"]) -> Float[Tensor, "row d_model"]:
    return states if states.ndim == 2 else states[:, 0]
