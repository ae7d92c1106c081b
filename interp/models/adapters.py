"""Adapters for encoders that TransformerLens cannot load: DistilBERT and headless BERT.

Hook points have TransformerLens's names. A model without a head gives its final hidden states
where a bridge gives logits.
"""

from typing import Any

from transformer_lens.factories.architecture_adapter_factory import ArchitectureAdapterFactory
from transformer_lens.model_bridge.architecture_adapter import ArchitectureAdapter
from transformer_lens.model_bridge.generalized_components import (
    AttentionBridge,
    BlockBridge,
    EmbeddingBridge,
    LinearBridge,
    MLPBridge,
    NormalizationBridge,
    PosEmbedBridge,
    UnembeddingBridge,
)
from transformer_lens.model_bridge.sources._bridge_builder import build_bridge_from_module
from transformer_lens.model_bridge.supported_architectures.bert import BertArchitectureAdapter


class HeadlessBert(BertArchitectureAdapter):  # type: ignore[misc]  # untyped library
    """`BertModel`, such as MiniLM: BERT's layers, and nothing of its vocabulary head."""

    def __init__(self, cfg: Any) -> None:
        super().__init__(cfg)
        for part in ("mlm_head", "unembed", "ln_final"):
            del self.component_mapping[part]
        for component in self.component_mapping.values():
            component.name = component.name.removeprefix("bert.")


class DistilBert(ArchitectureAdapter):  # type: ignore[misc]  # untyped library
    """`DistilBertForMaskedLM`: normalised after each sum, like BERT, with no token types."""

    supports_generation = False

    def __init__(self, cfg: Any) -> None:
        super().__init__(cfg)
        cfg.normalization_type = "LN"
        cfg.positional_embedding_type = "standard"
        cfg.final_rms = cfg.gated_mlp = cfg.attn_only = False
        cfg.attention_dir = "bidirectional"
        self.supports_fold_ln = False
        self.weight_processing_conversions: dict[str, Any] = {}
        attention = {"q": "q_lin", "k": "k_lin", "v": "v_lin", "o": "out_lin"}
        self.component_mapping = {
            "embed": EmbeddingBridge(name="distilbert.embeddings.word_embeddings"),
            "pos_embed": PosEmbedBridge(name="distilbert.embeddings.position_embeddings"),
            "embed_ln": self._norm("distilbert.embeddings.LayerNorm"),
            "blocks": BlockBridge(
                name="distilbert.transformer.layer",
                submodules={
                    "attn": AttentionBridge("attention", cfg, submodules=_linear(attention)),
                    "ln1": self._norm("sa_layer_norm"),
                    "mlp": MLPBridge("ffn", cfg, _linear({"in": "lin1", "out": "lin2"})),
                    "ln2": self._norm("output_layer_norm"),
                },
            ),
            "mlm_head": LinearBridge(name="vocab_transform"),
            "ln_final": self._norm("vocab_layer_norm"),
            "unembed": UnembeddingBridge(name="vocab_projector"),
        }

    def _norm(self, name: str) -> Any:
        return NormalizationBridge(name, self.cfg, use_native_layernorm_autograd=True)


ADAPTERS = {"BertModel": HeadlessBert, "DistilBertForMaskedLM": DistilBert}
"""Our adapter for each architecture that TransformerLens lacks."""


def boot_with_adapter(module: Any, tokenizer: Any, *, name: str) -> Any:
    """A bridge around a model of one of the architectures in `ADAPTERS`."""
    architecture = type(module).__name__
    ArchitectureAdapterFactory.register_adapter(architecture, ADAPTERS[architecture])
    return build_bridge_from_module(
        module, architecture, hf_config=module.config, tokenizer=tokenizer, model_name=name
    )


def _linear(names: dict[str, str]) -> dict[str, Any]:
    return {part: LinearBridge(name=name) for part, name in names.items()}
