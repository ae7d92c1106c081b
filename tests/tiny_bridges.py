"""Random models of many families, small enough to boot in a moment."""

import copy
import re

import torch
import transformers as hf

SIZES = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": 60,
    "max_position_embeddings": 64,
}
GROUPED = SIZES | {"num_key_value_heads": 2, "pad_token_id": 0}
GPT2_SIZES = {"n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": 60, "n_positions": 64}
SEQ2SEQ = {"d_model": 32, "vocab_size": 60, "decoder_start_token_id": 2}
O_PROJ = "model.layers.0.self_attn.o_proj"
WINDOW = {"head_dim": 8, "sliding_window": 4}

# model class, configuration, output projection of the first layer
FAMILIES = {
    # TransformerLens delegates attention to the model's module: ours runs inside
    "bert": (
        hf.BertForMaskedLM,
        hf.BertConfig(**SIZES),
        "bert.encoder.layer.0.attention.output.dense",
    ),
    "roberta": (
        hf.RobertaForMaskedLM,
        hf.RobertaConfig(**SIZES),
        "roberta.encoder.layer.0.attention.output.dense",
    ),
    "opt": (
        hf.OPTForCausalLM,
        hf.OPTConfig(**SIZES, ffn_dim=48, word_embed_proj_dim=32),
        "model.decoder.layers.0.self_attn.out_proj",
    ),
    "gptj": (
        hf.GPTJForCausalLM,
        hf.GPTJConfig(**GPT2_SIZES, rotary_dim=4),
        "transformer.h.0.attn.out_proj",
    ),
    "gpt_neo": (
        hf.GPTNeoForCausalLM,
        hf.GPTNeoConfig(
            hidden_size=32,
            num_layers=2,
            num_heads=4,
            vocab_size=60,
            intermediate_size=48,
            max_position_embeddings=64,
            attention_types=[[["local", "global"], 1]],
            window_size=3,
        ),
        "transformer.h.0.attn.attention.out_proj",
    ),
    # families that TransformerLens cannot load
    "distilbert": (
        hf.DistilBertForMaskedLM,
        hf.DistilBertConfig(dim=32, hidden_dim=48, n_layers=2, n_heads=4, vocab_size=60),
        "distilbert.transformer.layer.0.attention.out_lin",
    ),
    "headless bert": (
        hf.BertModel,
        hf.BertConfig(**SIZES),
        "encoder.layer.0.attention.output.dense",
    ),
    # TransformerLens computes attention itself
    "gpt2": (hf.GPT2LMHeadModel, hf.GPT2Config(**GPT2_SIZES), "transformer.h.0.attn.c_proj"),
    "llama": (hf.LlamaForCausalLM, hf.LlamaConfig(**GROUPED), O_PROJ),
    "mistral": (hf.MistralForCausalLM, hf.MistralConfig(**GROUPED, sliding_window=4), O_PROJ),
    "qwen2": (hf.Qwen2ForCausalLM, hf.Qwen2Config(**GROUPED), O_PROJ),
    "qwen3": (hf.Qwen3ForCausalLM, hf.Qwen3Config(**GROUPED, head_dim=8), O_PROJ),
    "gemma2": (
        hf.Gemma2ForCausalLM,
        hf.Gemma2Config(**GROUPED, **WINDOW, query_pre_attn_scalar=16),
        O_PROJ,
    ),
    "gemma3": (hf.Gemma3ForCausalLM, hf.Gemma3TextConfig(**GROUPED, **WINDOW), O_PROJ),
    "phi": (hf.PhiForCausalLM, hf.PhiConfig(**SIZES), "model.layers.0.self_attn.dense"),
    "phi3": (hf.Phi3ForCausalLM, hf.Phi3Config(**GROUPED), O_PROJ),
    "gpt_neox": (
        hf.GPTNeoXForCausalLM,
        hf.GPTNeoXConfig(**SIZES),
        "gpt_neox.layers.0.attention.dense",
    ),
    "olmo2": (hf.Olmo2ForCausalLM, hf.Olmo2Config(**GROUPED), O_PROJ),
    "bloom": (
        hf.BloomForCausalLM,
        hf.BloomConfig(hidden_size=32, n_layer=2, n_head=4, vocab_size=60),
        "transformer.h.0.self_attention.dense",
    ),
    "falcon": (
        hf.FalconForCausalLM,
        hf.FalconConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, vocab_size=60),
        "transformer.h.0.self_attention.dense",
    ),
    "cohere": (hf.CohereForCausalLM, hf.CohereConfig(**GROUPED), O_PROJ),
    "smollm3": (hf.SmolLM3ForCausalLM, hf.SmolLM3Config(**GROUPED), O_PROJ),
    "stablelm": (hf.StableLmForCausalLM, hf.StableLmConfig(**GROUPED), O_PROJ),
    "mpt": (
        hf.MptForCausalLM,
        hf.MptConfig(d_model=32, n_heads=4, n_layers=2, vocab_size=60, max_seq_len=64),
        "transformer.blocks.0.attn.out_proj",
    ),
    # encoder-decoders
    "t5": (
        hf.T5ForConditionalGeneration,
        hf.T5Config(**SEQ2SEQ, d_kv=8, d_ff=48, num_layers=2, num_heads=4),
        "decoder.block.0.layer.1.EncDecAttention.o",
    ),
    "bart": (
        hf.BartForConditionalGeneration,
        hf.BartConfig(
            **SEQ2SEQ,
            encoder_layers=2,
            decoder_layers=2,
            encoder_attention_heads=4,
            decoder_attention_heads=4,
            encoder_ffn_dim=48,
            decoder_ffn_dim=48,
        ),
        "model.decoder.layers.0.encoder_attn.out_proj",
    ),
    # attention is computed inline: nothing can run inside
    "xglm": (
        hf.XGLMForCausalLM,
        hf.XGLMConfig(d_model=32, ffn_dim=48, num_layers=2, attention_heads=4, vocab_size=60),
        "model.layers.0.self_attn.out_proj",
    ),
}


def tiny_model(family, *, seed=0, **changes):
    """A model with weights large enough for effects to be seen; eager, in eval mode."""
    model_class, config, _ = FAMILIES[family]
    config = copy.deepcopy(config)
    for name, setting in changes.items():
        setattr(config, name, setting)
    if "attn_implementation" not in changes:
        config._attn_implementation = "eager"
    torch.manual_seed(seed)
    model = model_class(config).eval().requires_grad_(False)
    for parameter in model.parameters():
        if parameter.ndim > 1:
            parameter.mul_(6)
    return model


def without_head(model, family, head):
    """A copy of the model in which the head's columns of the first output projection are 0."""
    model = copy.deepcopy(model)
    weight = model.get_submodule(FAMILIES[family][2]).weight
    columns = slice(8 * head, 8 * head + 8)
    if family == "gpt2":  # stored transposed
        weight[columns] = 0
    else:
        weight[:, columns] = 0
    return model


def exactly(sentence):
    """A pattern for `pytest.raises` that is the whole message."""
    return f"^{re.escape(sentence)}$"


def prompts(n_prompts=2, length=6, *, seed=0):
    return torch.randint(5, 60, (n_prompts, length), generator=torch.Generator().manual_seed(seed))


def logits(model, ids, **options):
    output = model(input_ids=ids, **options)
    return output.logits if hasattr(output, "logits") else output.last_hidden_state
