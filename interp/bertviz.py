"""All heads' whole patterns on one prompt, as a page of BertViz, where that is installed."""

from importlib import import_module
from importlib.util import find_spec

import torch

from interp.items import Item
from interp.measures.battery import read_patterns
from interp.models.model import Model


def bertviz_page(model: Model, item: Item) -> str:
    """BertViz's head view of the prompt of an item, under the model's prefix, as an HTML page.

    The page loads scripts from the network when it is opened; the pages of runs load nothing.

    Raises:
        ModuleNotFoundError: BertViz is not installed.
        ValueError: the text begins with a special token.

    Source: Vig 2019, arXiv:1906.05714.
    """
    if find_spec("bertviz") is None:
        raise ModuleNotFoundError(
            "BertViz is not installed; pip install bertviz ipython, or see the page of a run."
        )
    tokens = model.tokens(item.clean_text)
    patterns: list[torch.Tensor] = []

    def keep(layer: int, pattern: torch.Tensor) -> None:
        patterns.append(pattern.cpu())

    read_patterns(model.plain, torch.tensor([tokens.ids]), keep)
    head_view = import_module("bertviz").head_view
    found = head_view(
        attention=patterns, tokens=list(tokens.labels), html_action="return", prettify_tokens=False
    )
    return str(found.data)
