"""A model of the same shape that has learned nothing: what architecture alone makes heads do."""

import copy

import torch
from torch import nn

from interp.models.model import Model
from interp.models.plain import Plain


def random_init(model: Model, *, seed: int, keep_embeddings: bool) -> Model:
    """The model's configuration with fresh random weights, as its family draws them.

    Args:
        keep_embeddings: the tables of tokens and positions stay as trained, so that what heads do
            with words by themselves is left.

    Source: the control of Clark et al. 2019, arXiv:1906.04341, section 5.
    """
    module = model.plain.module
    config = copy.deepcopy(model.config)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        fresh = type(module)._from_config(config, dtype=module.dtype, attn_implementation="eager")
    if keep_embeddings:
        trained = dict(module.named_modules())
        with torch.no_grad():
            for name, part in fresh.named_modules():
                if isinstance(part, nn.Embedding):
                    part.weight.copy_(trained[name].weight)
    kept = ", embeddings kept" if keep_embeddings else ""
    return Model(
        name=f"{model.name}, random {seed}{kept}",
        plain=Plain(fresh.requires_grad_(False)),
        tokenizer=model.tokenizer,
        prefix=model.prefix,
        weights_hash="",
    )
