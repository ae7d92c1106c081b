"""A bridge that refuses what TransformerLens lets pass in silence."""

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from transformer_lens.model_bridge import TransformerBridge

from interp.guards import Watch, check_names
from interp.heads import nearest_name

_UNDECLARED = {
    "cache_position",
    "decoder_input",
    "input_ids",
    "one_zero_attention_mask",
    "output_attentions",
    "output_hidden_states",
    "position_ids",
    "return_dict",
    "use_cache",
    "use_past_kv_cache",
}
"""Arguments that bridge or model take without naming them in their signatures."""

_INSTEAD = {
    "fwd_hooks": "attach hooks around the call: with bridge.hooks(fwd_hooks=...): ...",
    "bwd_hooks": "attach hooks around the call: with bridge.hooks(bwd_hooks=...): ...",
    "head_mask": "transformers accepts it and does nothing; use interp.hooks.ablate",
}


class StrictBridge(TransformerBridge):  # type: ignore[misc]  # untyped library
    """TransformerLens's bridge, with errors for what would have no effect.

    A misspelt argument, hook name or name filter, a hook that never fires and a result that would
    be broadcast raise a ValueError. Everything else is as in TransformerLens.
    """

    def forward(self, input: Any, *args: Any, **kwargs: Any) -> Any:
        """TransformerLens's forward, with no argument that nobody reads."""
        known = _UNDECLARED.union(
            inspect.signature(TransformerBridge.forward).parameters,
            inspect.signature(type(self.original_model).forward).parameters,
        )
        for name in kwargs.keys() - known:
            nearest = nearest_name(name, known)
            hint = f"did you mean {nearest!r}?" if nearest else "nothing reads it."
            raise ValueError(
                f"a forward of this model takes no {name!r}; {_INSTEAD.get(name, hint)}"
            )
        return super().forward(input, *args, **kwargs)

    def run_with_hooks(self, input: Any, fwd_hooks: Any = (), *args: Any, **kwargs: Any) -> Any:
        """TransformerLens's, in which every forward hook fires or is an error."""
        check_names(self, [name for name, _ in fwd_hooks])
        watch = Watch(fwd_hooks)
        output = super().run_with_hooks(input, watch.pairs, *args, **kwargs)
        watch.check_fired()
        return output

    def run_with_cache(self, *args: Any, names_filter: Any = None, **kwargs: Any) -> Any:
        """TransformerLens's, in which each name in `names_filter` is a hook point."""
        if names_filter is not None:
            check_names(self, names_filter if isinstance(names_filter, list) else [names_filter])
        return super().run_with_cache(*args, names_filter=names_filter, **kwargs)

    @contextmanager
    def hooks(self, fwd_hooks: Any = (), *args: Any, **kwargs: Any) -> Iterator[Any]:
        """TransformerLens's, in which every forward hook fires in the block or is an error."""
        check_names(self, [name for name, _ in fwd_hooks])
        watch = Watch(fwd_hooks)
        with super().hooks(watch.pairs, *args, **kwargs):
            yield self
        watch.check_fired()
