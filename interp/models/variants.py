"""The families and variants that parity is shown on, a line or two each."""

from collections.abc import Mapping
from typing import Any

from interp.models.families import Variant

_NONE: Mapping[str, Any] = {}
_LLAMA: dict[str, Any] = {"intermediate_size": 48, "num_key_value_heads": 2, "head_dim": 8}
_BERT: dict[str, Any] = {"intermediate_size": 48, "max_position_embeddings": 32}
_LOCAL: dict[str, Any] = {
    "sliding_window": 4,
    "layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
}
_ALL_FULL = {"layer_types": ["full_attention"] * 3}


def _rope(kind: str, **settings: Any) -> dict[str, Any]:
    return {"rope_parameters": {"rope_type": kind, "rope_theta": 100.0, **settings}}


_LINEAR = _rope("linear", factor=4.0)
_DYNAMIC = {**_rope("dynamic", factor=4.0), "max_position_embeddings": 8}
_YARN = {
    **_rope("yarn", factor=4.0, original_max_position_embeddings=8),
    "max_position_embeddings": 32,
}
_LLAMA3 = _rope(
    "llama3",
    factor=8.0,
    low_freq_factor=1.0,
    high_freq_factor=4.0,
    original_max_position_embeddings=8,
)
_LONGROPE = {
    **_rope(
        "longrope",
        original_max_position_embeddings=8,
        short_factor=[1.0] * 4,
        long_factor=[1.0, 2.0, 3.0, 4.0],
    ),
    "original_max_position_embeddings": 8,
}


def _causal(name: str, plainer: Mapping[str, Any] = _NONE, /, **settings: Any) -> Variant:
    family = name.split(",", maxsplit=1)[0]
    return Variant(name=name, family=family, settings=settings, plainer=plainer)


def _masked(name: str, plainer: Mapping[str, Any] = _NONE, /, **settings: Any) -> Variant:
    return Variant(name=name, family=name, settings=settings, plainer=plainer, kind="masked")


_ABSOLUTE = (
    _causal("gpt2"),
    _causal("gpt2, unscaled", {"scale_attn_weights": True}, scale_attn_weights=False),
    _causal(
        "gpt2, scaled by layer",
        {"scale_attn_by_inverse_layer_idx": False},
        scale_attn_by_inverse_layer_idx=True,
    ),
    _causal(
        "gpt_neo",
        {"window_size": 32},
        attention_types=[[["local", "global"], 1], [["local"], 1]],
        window_size=4,
    ),
    _causal("opt", ffn_dim=48, word_embed_proj_dim=32),
)
_ALIBI = (
    _causal("bloom"),
    _causal("mpt", max_seq_len=32),
    # the eager code of transformers 5.24 adds ALiBi twice; its sdpa code adds it once, as published
    Variant(
        name="falcon, ALiBi",
        family="falcon",
        settings={"alibi": True, "multi_query": False, "bias": True},
        plainer={"alibi": False},
        reference="sdpa",
    ),
)
_ROTARY = (
    _causal("gptj", {"rotary_dim": 2}, rotary_dim=4),
    _causal("gpt_neox", intermediate_size=48),
    _causal("falcon", bias=True),
    _causal("falcon, grouped", new_decoder_architecture=True, num_kv_heads=2),
    _causal("llama", **{**_LLAMA, "num_key_value_heads": 4, "attention_bias": True}),
    _causal("llama, grouped", **_LLAMA),
    _causal("llama, multi-query", **{**_LLAMA, "num_key_value_heads": 1}),
    _causal("llama, linear rope", _rope("default"), **_LLAMA, **_LINEAR),
    _causal("llama, dynamic rope", _rope("default"), **_LLAMA, **_DYNAMIC),
    _causal("llama, yarn rope", _rope("default"), **_LLAMA, **_YARN),
    _causal("llama, llama3 rope", _rope("default"), **_LLAMA, **_LLAMA3),
    _causal("phi", intermediate_size=48),
    _causal("phi3", intermediate_size=48, num_key_value_heads=2),
    _causal("phi3, longrope", _rope("default"), intermediate_size=48, **_LONGROPE),
    _causal("stablelm", intermediate_size=48, num_key_value_heads=2, use_qkv_bias=True),
    _causal("granite", {"attention_multiplier": 1.0}, **_LLAMA, attention_multiplier=0.2),
    _causal("smollm3", {"no_rope_layers": [1, 1, 1]}, **_LLAMA, no_rope_layers=[1, 0, 1]),
    _causal("starcoder2", **_LLAMA),
    _causal("qwen2", **_LLAMA),
)
_NORMED = (
    _causal("qwen3", **_LLAMA),
    _causal("olmo2", intermediate_size=48, num_key_value_heads=2),
    _causal("cohere", {"use_qk_norm": False}, **_LLAMA, use_qk_norm=True, logit_scale=0.25),
    _causal("stablelm, query norm", {"qk_layernorm": False}, qk_layernorm=True, **_LLAMA),
)
_LOCAL_OR_CAPPED = (
    _causal("mistral", {"sliding_window": None}, **_LLAMA, sliding_window=4),
    _causal("mixtral", {"sliding_window": None}, **_LLAMA, sliding_window=4),
    _causal("gemma", **_LLAMA),
    _causal(
        "gemma2, soft-cap",
        {"attn_logit_softcapping": None},
        attn_logit_softcapping=1.0,
        query_pre_attn_scalar=4,
        **_LLAMA,
        **_LOCAL,
    ),
    _causal("gemma2, windows", _ALL_FULL, query_pre_attn_scalar=16, **_LLAMA, **_LOCAL),
    _causal("gemma3_text", _ALL_FULL, query_pre_attn_scalar=16, **_LLAMA, **_LOCAL),
    Variant(
        name="gpt_oss",
        family="gpt_oss",
        settings={**_LLAMA, **_LOCAL, **_YARN, "num_local_experts": 4},
        silenced="sinks",
    ),
)
_ENCODERS = (
    _masked("bert", **_BERT),
    _masked("roberta", **{**_BERT, "pad_token_id": 1, "bos_token_id": 0}),
    _masked("distilbert", hidden_dim=48, max_position_embeddings=32),
    _masked("electra", **_BERT, embedding_size=16),
    _masked("albert", **_BERT, embedding_size=16),
    _masked(
        "modernbert", {"layer_types": ["full_attention"] * 3}, intermediate_size=48,
        local_attention=4, cls_token_id=1, sep_token_id=2,
    ),
    Variant(name="bert, headless", family="bert", settings=_BERT, kind="headless"),
    Variant(name="t5, encoder", family="t5", settings={"d_kv": 8, "d_ff": 48}, kind="encoder"),
)  # fmt: skip
_REFUSED = (
    Variant(name="t5", family="t5", settings={"d_kv": 8, "d_ff": 48}, kind="seq2seq"),
    Variant(name="bart", family="bart", settings={"decoder_start_token_id": 2}, kind="seq2seq"),
)

VARIANTS = (
    *_ABSOLUTE,
    *_ALIBI,
    *_ROTARY,
    *_NORMED,
    *_LOCAL_OR_CAPPED,
    *_ENCODERS,
    *_REFUSED,
)
