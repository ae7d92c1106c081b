"""A model whose weights lie elsewhere within what their quantisation rounded away."""

import hashlib
from dataclasses import replace

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from interp.models.model import Model
from interp.models.plain import Plain
from interp.models.sharing import twin

BLOCK, LEVELS = 32, 16


def dithered(model: Model, *, seed: int) -> Model:
    """Every weight that was rounded to 4 bits moved by a uniform draw of ± half a step.

    Where a weight stood before it was rounded is not known within that step, so what is said of the
    heads should not depend on it. Weights that are no such blocks stay as they are.

    Raises:
        ValueError: no weight is of such blocks.
    """
    generator = torch.Generator().manual_seed(seed)
    module = twin(model.plain.module)
    module.set_attn_implementation("eager")  # ours answers only modules that a `Plain` holds
    digest = hashlib.sha256(model.weights_hash.encode())
    n_moved = 0
    for part in module.modules():
        if not isinstance(part, nn.Linear):
            continue
        step = steps(part.weight.detach())
        if not step.any():
            continue
        draw = torch.rand(part.weight.shape, generator=generator).to(part.weight) - 0.5
        moved = part.weight.detach() + draw * step.repeat_interleave(BLOCK, dim=1)
        part.weight = nn.Parameter(moved, requires_grad=False)
        digest.update(moved.cpu().numpy().tobytes())
        n_moved += 1
    if not n_moved:
        raise ValueError(
            f"no weight of {model.name} lies on blocks of {LEVELS} levels, so there is no step to "
            "move it by; give a model that was read from 4-bit weights."
        )
    return replace(
        model,
        name=f"{model.name}, dithered {seed}",
        plain=Plain(module),
        weights_hash=digest.hexdigest(),
    )


def steps(weight: Float[Tensor, "out in_"]) -> Float[Tensor, "out block"]:
    """By how much two neighbouring levels of each block differ; 0 for all where one is no such.

    A block is 32 weights in a row that lie on 16 even levels, of which the first and the last are
    taken.

    Source: the format Q4_1 of GGUF.
    """
    if weight.shape[1] % BLOCK:
        return torch.zeros(weight.shape[0], 1)
    blocks = weight.reshape(weight.shape[0], -1, BLOCK)
    least, greatest = blocks.aminmax(dim=-1, keepdim=True)
    step = (greatest - least) / (LEVELS - 1)
    level = (blocks - least) / torch.where(step > 0, step, torch.ones_like(step))
    on_levels: Bool[Tensor, ""] = (level - level.round()).abs().max() < 1e-3
    return step[..., 0] if on_levels else torch.zeros_like(step[..., 0])
