"""A loaded model: one set of weights, held as a bridge for people and plain for the engine."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

from interp.encode import Batch, encode
from interp.heads import Head, all_heads, parse_head
from interp.items import Item
from interp.models.offload import is_offloaded
from interp.models.plain import Plain
from interp.models.prefix import Prefix, resolve_prefix
from interp.models.sharing import twin
from interp.probes import same_output_probe
from interp.tokens import Tokens, prompt_tokens


@dataclass(frozen=True, kw_only=True, eq=False)
class Model:
    """A pretrained model in eval mode, without gradients.

    Attributes:
        name: as it is printed and used in folder names.
        plain: the model's own modules with our attention inside.
        tokenizer: its Hugging Face tokenizer.
        prefix: what stands before every text.
        weights_hash: SHA-256 of the weight files.
    """

    name: str
    plain: Plain
    tokenizer: Any
    prefix: Prefix
    weights_hash: str

    @property
    def is_causal(self) -> bool:
        """Whether a position sees only itself and earlier ones."""
        return self.plain.is_causal

    @property
    def config(self) -> Any:
        """The transformers configuration."""
        return self.plain.module.config

    @property
    def n_layers(self) -> int:
        """Number of layers."""
        return int(self.config.num_hidden_layers)

    @property
    def n_heads(self) -> int:
        """Query heads in a layer."""
        return int(self.config.num_attention_heads)

    @property
    def dtype(self) -> str:
        """The dtype of the parameters, such as `float32`."""
        return str(self.plain.module.dtype).removeprefix("torch.")

    @property
    def device(self) -> str:
        """Where the parameters are, such as `cpu`; several, where the model is spread over them."""
        spread = getattr(self.plain.module, "hf_device_map", None) or {"": self.plain.module.device}
        return ", ".join(dict.fromkeys(map(str, spread.values())))

    @property
    def heads(self) -> list[Head]:
        """Every head, in order."""
        return all_heads(self.n_layers, self.n_heads)

    def head(self, text: str) -> Head:
        """The head of this model that a text such as `"L27H0"` names, or a ValueError."""
        return parse_head(text, n_layers=self.n_layers, n_heads=self.n_heads)

    def encode(self, items: Sequence[Item]) -> list[Batch]:
        """Items as batches of equal length under the model's prefix (see `interp.encode`)."""
        before, after = self.prefix.before, self.prefix.after
        return encode(items, self.tokenizer, before=before, after=after)

    def tokens(self, prompt: str | Sequence[str] | Sequence[int]) -> Tokens:
        """A prompt's ids and labels under the model's prefix (see `interp.tokens`)."""
        before, after = self.prefix.before, self.prefix.after
        return prompt_tokens(prompt, self.tokenizer, before=before, after=after)

    def with_prefix(self, policy: str) -> "Model":
        """The same weights under another prefix: `"document"`, `"bos"` or `"none"`."""
        return Model(
            name=self.name,
            plain=self.plain,
            tokenizer=self.tokenizer,
            prefix=resolve_prefix(policy, self.tokenizer, is_causal=self.is_causal),
            weights_hash=self.weights_hash,
        )

    @cached_property
    def bridge(self) -> Any:
        """TransformerLens's bridge over the same weights, for its hooks and its API.

        Made at first use. It shares parameters with `plain` and nothing else: hooks on the one
        are not seen by the other.

        Raises:
            ValueError: there is no adapter for this family, or the bridge computes other logits
                than the plain model.
        """
        from interp.models.bridge import boot, logits_of

        module = twin(self.plain.module)
        if is_offloaded(module):
            del module.hf_device_map  # TransformerLens knows no disk; accelerate's hooks stay
        module.set_attn_implementation("eager")  # ours answers only modules that `plain` holds
        bridge = boot(module, self.tokenizer, name=self.name)
        ids = torch.arange(3, 7, device=module.device)[None]  # no encoder's padding among them
        same_output_probe(bridge, lambda ids: logits_of(self.plain(ids)), ids)
        return bridge
