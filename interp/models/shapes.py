"""Random models of a given shape: what a computation costs does not depend on what was learned."""

from dataclasses import dataclass
from typing import Any

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from interp.models.model import Model
from interp.models.plain import Plain
from interp.models.prefix import Prefix

_MAX_TOKENS = 4096


@dataclass(frozen=True, kw_only=True)
class Shape:
    """Sizes of a llama.

    Attributes:
        width: of the residual stream; a head has width / n_heads of it.
        mlp: hidden units.
    """

    n_layers: int
    n_heads: int
    n_kv_heads: int
    width: int
    mlp: int
    n_vocabulary: int


def random_llama(shape: Shape, *, seed: int, device: str = "cpu", tokenizer: Any = None) -> Model:
    """A llama of this shape in fp32 with normal weights, made on the device.

    Weights have a variance of 1 / width, so that removing a head is seen in the logits.

    Args:
        tokenizer: only the bridge needs one, such as `word_an_id`.
    """
    config = LlamaConfig(
        num_hidden_layers=shape.n_layers,
        num_attention_heads=shape.n_heads,
        num_key_value_heads=shape.n_kv_heads,
        hidden_size=shape.width,
        intermediate_size=shape.mlp,
        vocab_size=shape.n_vocabulary,
        max_position_embeddings=_MAX_TOKENS,
        initializer_range=shape.width**-0.5,
        bos_token_id=0,
        eos_token_id=0,
    )
    with torch.random.fork_rng(), torch.device(device):
        torch.manual_seed(seed)
        module = LlamaForCausalLM._from_config(
            config, dtype=torch.float32, attn_implementation="eager"
        )
    return Model(
        name=f"random llama, {shape.n_layers} × {shape.n_heads}",
        plain=Plain(module.to(device).requires_grad_(False)),
        tokenizer=tokenizer,
        prefix=Prefix(policy="none", text="", before=(), after=()),
        weights_hash="",
    )


def word_an_id(n_vocabulary: int, folder: str) -> Any:
    """A tokenizer of made-up words, one an id, kept in a folder: the bridge reads it from there."""
    words = {f"w{number}": number for number in range(n_vocabulary)}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="w0"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="w0", bos_token="w1", eos_token="w2"
    ).save_pretrained(folder)
    return AutoTokenizer.from_pretrained(folder)
