"""How a kind of model is asked: where an item is read, and by which metric."""

from collections.abc import Sequence

from interp.effects.metrics import LOGIT_DIFFERENCE, REPRESENTATION_MARGIN, Metric
from interp.items import Item
from interp.models.model import Model
from interp.tasks.sentences import masked, read_at


def as_read(model: Model, items: Sequence[Item]) -> list[Item]:
    """The items as this kind of model takes them: at the last token, at a mask, or at a word.

    Items that say themselves where they are read stay as they are.
    """
    if has_logits(model) and model.is_causal:
        return list(items)
    unread = [item for item in items if item.query is None]
    read = masked(unread, model.tokenizer) if has_logits(model) else read_at(unread)
    by_id = {item.item_id: item for item in read}
    return [by_id.get(item.item_id, item) for item in items]


def metric_of(model: Model) -> Metric:
    """The logit difference; of a model without logits how much nearer the source is."""
    return LOGIT_DIFFERENCE if has_logits(model) else REPRESENTATION_MARGIN


def has_logits(model: Model) -> bool:
    """Whether the model has a vocabulary to answer from."""
    return model.plain.anatomy.unembedding is not None
