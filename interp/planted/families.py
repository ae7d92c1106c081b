"""From a circuit to the weights and the configuration of a family that transformers has.

Norms stand still: with ε = 2⁴⁰ and gain 2²⁰ a norm multiplies by 1 to the last bit, whatever the
size of the stream (below 2¹⁶). LayerNorm also subtracts the mean, so in its families one more
coordinate holds the balance, minus the sum of all others, and the mean is 0. Rotary embeddings
stand still when positions are interpolated by 10¹².
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from interp.planted.kit import Circuit, HeadWeights

Tensors = dict[str, np.ndarray]
Write = Callable[[np.ndarray, int], np.ndarray]
STILL_EPSILON, STILL_GAIN = 2.0**40, 2.0**20
_NO_TURN = {"rope_type": "linear", "factor": 1e12, "rope_theta": 1e4}


@dataclass(frozen=True, kw_only=True)
class Files:
    """A model as transformers saves it: its weights by name, and its configuration."""

    tensors: Tensors
    config: dict[str, Any]

    def write(self, folder: Path) -> None:
        """Write `config.json` and, in fp32, `model.safetensors`."""
        from safetensors.numpy import save_file

        tensors = {
            name: np.ascontiguousarray(tensor, dtype=np.float32)
            for name, tensor in self.tensors.items()
        }
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
        (folder / "config.json").write_text(json.dumps(self.config, indent=2))


def as_gpt2(circuit: Circuit) -> Files:
    """The circuit as a GPT-2: learned positions, norms before each part, ReLU neurons."""
    n_layers, n_heads = len(circuit.heads), len(circuit.heads[0])
    d_model = _width(circuit)
    d_head = d_model // n_heads
    n_neurons = max([1, *(mlp.reads.shape[1] for mlp in circuit.mlps.values())])
    tensors: Tensors = {
        "transformer.wte.weight": _balanced(circuit.embedding, d_model),
        "transformer.wpe.weight": _balanced(circuit.positions, d_model),
        "lm_head.weight": _read(circuit.unembedding, d_model).T,
    }
    for layer, heads in enumerate(circuit.heads):
        block = f"transformer.h.{layer}."
        query, key, value, output = _merged(heads, d_model, d_head, write=_balanced)
        reads, writes = np.zeros((d_model, n_neurons)), np.zeros((n_neurons, d_model))
        if layer in circuit.mlps:
            mlp = circuit.mlps[layer]
            reads[:, : mlp.reads.shape[1]] = _read(mlp.reads, d_model)
            writes[: len(mlp.writes)] = _balanced(mlp.writes, d_model)
        tensors |= {
            f"{block}attn.c_attn.weight": np.hstack([query, key, value]),
            f"{block}attn.c_attn.bias": np.zeros(3 * d_model),
            f"{block}attn.c_proj.weight": output,
            f"{block}attn.c_proj.bias": np.zeros(d_model),
            f"{block}mlp.c_fc.weight": reads,
            f"{block}mlp.c_fc.bias": np.zeros(n_neurons),
            f"{block}mlp.c_proj.weight": writes,
            f"{block}mlp.c_proj.bias": np.zeros(d_model),
        }
        tensors |= _layer_norm(f"{block}ln_1", d_model) | _layer_norm(f"{block}ln_2", d_model)
    return Files(
        tensors=tensors | _layer_norm("transformer.ln_f", d_model),
        config={
            "model_type": "gpt2",
            "architectures": ["GPT2LMHeadModel"],
            "vocab_size": len(circuit.embedding),
            "n_positions": len(circuit.positions),
            "n_embd": d_model,
            "n_layer": n_layers,
            "n_head": n_heads,
            "n_inner": n_neurons,
            "activation_function": "relu",
            "layer_norm_epsilon": STILL_EPSILON,
            "tie_word_embeddings": False,
            "bos_token_id": 0,
            "eos_token_id": 0,
        },
    )


def as_bert(circuit: Circuit) -> Files:
    """The circuit as a BERT with its masked-word head: every query sees every key.

    Norms stand after each sum. The circuit has no MLPs.
    """
    n_heads, d_model = len(circuit.heads[0]), _width(circuit)
    parts = {
        "bert.embeddings.word_embeddings.weight": _balanced(circuit.embedding, d_model),
        "bert.embeddings.position_embeddings.weight": _balanced(circuit.positions, d_model),
        "bert.embeddings.token_type_embeddings.weight": np.zeros((2, d_model)),
        "cls.predictions.bias": np.zeros(len(circuit.embedding)),
        "cls.predictions.decoder.weight": _read(circuit.unembedding, d_model).T,
        "cls.predictions.decoder.bias": np.zeros(len(circuit.embedding)),
    }
    parts |= _linear("cls.predictions.transform.dense", np.eye(d_model))
    norms = ["bert.embeddings.LayerNorm", "cls.predictions.transform.LayerNorm"]
    for layer, heads in enumerate(circuit.heads):
        block = f"bert.encoder.layer.{layer}."
        query, key, value, output = _merged(heads, d_model, d_model // n_heads, write=_balanced)
        parts |= _linear(f"{block}attention.self.query", query)
        parts |= _linear(f"{block}attention.self.key", key)
        parts |= _linear(f"{block}attention.self.value", value)
        parts |= _linear(f"{block}attention.output.dense", output)
        parts |= _linear(f"{block}intermediate.dense", np.zeros((d_model, 1)))
        parts |= _linear(f"{block}output.dense", np.zeros((1, d_model)))
        norms += [f"{block}attention.output.LayerNorm", f"{block}output.LayerNorm"]
    for norm in norms:
        parts |= _layer_norm(norm, d_model)
    return Files(
        tensors=parts,
        config={
            "model_type": "bert",
            "architectures": ["BertForMaskedLM"],
            "vocab_size": len(circuit.embedding),
            "max_position_embeddings": len(circuit.positions),
            "hidden_size": d_model,
            "num_hidden_layers": len(circuit.heads),
            "num_attention_heads": n_heads,
            "intermediate_size": 1,
            "hidden_act": "linear",
            "layer_norm_eps": STILL_EPSILON,
            "tie_word_embeddings": False,
        },
    )


def as_llama(
    circuit: Circuit,
    *,
    n_kv_heads: int | None = None,
    radius: float | None = None,
    rope: dict[str, Any] | None = None,
    d_head: int | None = None,
) -> Files:
    """The circuit as a Llama: RMSNorm, no learned positions, keys shared by groups of heads.

    The circuit has no MLPs and no positions.

    Args:
        n_kv_heads: one for each head when None; else heads of a group have one key and value.
        radius: length of the stream at which live norms (ε = 10⁻⁷) change nothing; still when None.
        rope: parameters of the rotary embedding; still when None.
        d_head: the least that holds every head when None.
    """
    n_heads = len(circuit.heads[0])
    d_model = -(-circuit.embedding.shape[1] // n_heads) * n_heads
    n_kv_heads = n_heads if n_kv_heads is None else n_kv_heads
    d_head = _largest_head(circuit) if d_head is None else d_head
    d_head += d_head % 2
    gain = STILL_GAIN if radius is None else radius * d_model**-0.5
    parts: Tensors = {
        "model.embed_tokens.weight": _padded(circuit.embedding, d_model),
        "lm_head.weight": _read(circuit.unembedding, d_model).T,
        "model.norm.weight": np.full(d_model, gain),
    }
    for layer, heads in enumerate(circuit.heads):
        block = f"model.layers.{layer}."
        query, key, value, output = _merged(heads, d_model, d_head, write=_padded)
        parts |= {
            f"{block}self_attn.q_proj.weight": query.T,
            f"{block}self_attn.k_proj.weight": _shared(key, n_kv_heads, d_head).T,
            f"{block}self_attn.v_proj.weight": _shared(value, n_kv_heads, d_head).T,
            f"{block}self_attn.o_proj.weight": output.T,
            f"{block}mlp.gate_proj.weight": np.zeros((1, d_model)),
            f"{block}mlp.up_proj.weight": np.zeros((1, d_model)),
            f"{block}mlp.down_proj.weight": np.zeros((d_model, 1)),
            f"{block}input_layernorm.weight": np.full(d_model, gain),
            f"{block}post_attention_layernorm.weight": np.full(d_model, gain),
        }
    return Files(
        tensors=parts,
        config={
            "model_type": "llama",
            "architectures": ["LlamaForCausalLM"],
            "vocab_size": len(circuit.embedding),
            "max_position_embeddings": len(circuit.positions),
            "hidden_size": d_model,
            "intermediate_size": 1,
            "num_hidden_layers": len(circuit.heads),
            "num_attention_heads": n_heads,
            "num_key_value_heads": n_kv_heads,
            "head_dim": d_head,
            "rms_norm_eps": STILL_EPSILON if radius is None else 1e-7,
            "rope_parameters": rope or _NO_TURN,
            "tie_word_embeddings": False,
            "bos_token_id": 0,
            "eos_token_id": 0,
        },
    )


def _width(circuit: Circuit) -> int:
    """Room for the stream and its balance, and a whole head for each share of it."""
    n_heads = len(circuit.heads[0])
    needed = max(circuit.embedding.shape[1] + 1, n_heads * _largest_head(circuit))
    return int(-(-needed // n_heads) * n_heads)


def _largest_head(circuit: Circuit) -> int:
    return max(one.d_head for heads in circuit.heads for one in heads)


def _merged(
    heads: Sequence[HeadWeights], d_model: int, d_head: int, *, write: Write
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The four maps of a layer, heads side by side; queries undo the scale of scores."""

    def side_by_side(maps: list[np.ndarray]) -> np.ndarray:
        filled = [np.pad(_read(one, d_model), ((0, 0), (0, d_head - one.shape[1]))) for one in maps]
        return np.hstack(filled)

    outputs = [write(one.output, d_model) for one in heads]
    return (
        side_by_side([one.query for one in heads]) * d_head**0.5,
        side_by_side([one.key for one in heads]),
        side_by_side([one.value for one in heads]),
        np.vstack([np.pad(one, ((0, d_head - len(one)), (0, 0))) for one in outputs]),
    )


def _shared(
    side_by_side: Float[np.ndarray, "d_model d_heads"], n_kv_heads: int, d_head: int
) -> Float[np.ndarray, "d_model d_kv_heads"]:
    """One key or value map a group, which all heads of the group must have."""
    groups = side_by_side.reshape(len(side_by_side), n_kv_heads, -1, d_head)
    assert (groups == groups[:, :, :1]).all(), "heads of a group have one key and one value"
    return groups[:, :, 0].reshape(len(side_by_side), -1)


def _read(reading: Float[np.ndarray, "d feature"], d_model: int) -> np.ndarray:
    """A reading of a wider stream: the coordinates beyond are not looked at."""
    return np.pad(reading, ((0, d_model - len(reading)), (0, 0)))


def _padded(written: Float[np.ndarray, "row d"], d_model: int) -> np.ndarray:
    """What is written to a wider stream: nothing in the coordinates beyond."""
    return np.pad(written, ((0, 0), (0, d_model - written.shape[1])))


def _balanced(written: Float[np.ndarray, "row d"], d_model: int) -> np.ndarray:
    """What is written to a wider stream, its balance in the last coordinate."""
    wider = _padded(written, d_model)
    wider[:, -1] = -written.sum(axis=1)
    return wider


def _linear(name: str, weight: Float[np.ndarray, "d_in d_out"]) -> Tensors:
    return {f"{name}.weight": weight.T, f"{name}.bias": np.zeros(weight.shape[1])}


def _layer_norm(name: str, d_model: int) -> Tensors:
    return {f"{name}.weight": np.full(d_model, STILL_GAIN), f"{name}.bias": np.zeros(d_model)}
