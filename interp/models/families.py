"""Small random models of every family and variant, made on the spot: what parity is shown on.

Each has three layers of four heads, weights large enough that attention is far from uniform, and
biases that are not 0. What is special about a variant can be switched off, to see that it acts.
"""

import copy
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor
from transformers import (
    CONFIG_MAPPING,
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    AutoModelForTextEncoding,
)

LENGTH = 12
VOCABULARY = 40
PAD = 0
_LOADERS = {
    "causal": AutoModelForCausalLM,
    "masked": AutoModelForMaskedLM,
    "headless": AutoModel,
    "encoder": AutoModelForTextEncoding,
    "seq2seq": AutoModelForSeq2SeqLM,
}
_SMALL = {
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "vocab_size": VOCABULARY,
    "pad_token_id": PAD,
    "bos_token_id": 1,
    "eos_token_id": 2,
}


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One family, in one of its forms.

    Attributes:
        name: as it stands in the table, such as `"llama, grouped"`.
        family: transformers' `model_type`.
        settings: of the configuration, beside the small sizes that all share.
        kind: the head it is loaded with.
        plainer: settings with which the variant's speciality is off; empty if it has none.
        silenced: the last part of the name of parameters that are −inf when it is off.
        reference: the family's own implementation that counts as right.
    """

    name: str
    family: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    kind: Literal["causal", "masked", "headless", "encoder", "seq2seq"] = "causal"
    plainer: Mapping[str, Any] = field(default_factory=dict)
    silenced: str | None = None
    reference: str = "eager"


def small_model(variant: Variant, *, without_speciality: bool = False, **settings: Any) -> Any:
    """A model of this variant in eval mode, as transformers runs it; every call gives the same.

    A weight depends on its own name only, so that variants of a family share what they can.
    """
    chosen = {**_SMALL, **variant.settings, **settings}
    if without_speciality:
        chosen |= variant.plainer
    config = CONFIG_MAPPING[variant.family](**copy.deepcopy(chosen))  # some configs write into it
    with torch.random.fork_rng():
        torch.manual_seed(0)
        loader = _LOADERS[variant.kind]
        model = loader.from_config(config, attn_implementation=variant.reference)
    config.architectures = [type(model).__name__]
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.empty_like(parameter).normal_(
                generator=torch.Generator().manual_seed(zlib.crc32(name.encode()))
            )
            if parameter.ndim > 1 and "norm" not in name:
                parameter.copy_(noise * 1.5 * parameter.shape[-1] ** -0.5)
            else:
                parameter.add_(noise * 0.2)
            if without_speciality and name.endswith(variant.silenced or "\0"):
                parameter.fill_(-torch.inf)
    return model.eval()


def small_ids(n_items: int, length: int = LENGTH) -> Int[Tensor, "item pos"]:
    """Random ids that no family takes for padding; every call gives the same."""
    generator = torch.Generator().manual_seed(1)
    return torch.randint(3, VOCABULARY, (n_items, length), generator=generator)


def output_of(given: Any) -> Float[Tensor, "item pos column"]:
    """A model's logits, or the last hidden states of one that has no head."""
    logits = getattr(given, "logits", None)
    output: Tensor = given.last_hidden_state if logits is None else logits
    return output
