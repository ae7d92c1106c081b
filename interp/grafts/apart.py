"""A copy of a model in which what one head writes is another, and nothing else.

Only the head's slice of the output projection changes. Every pattern of its layer and of those
below stays as it was, to the last bit; all other weights are shared with the model that was given.
"""

import hashlib
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor, nn

from interp.heads import Head
from interp.models import Model
from interp.models.plain import Plain
from interp.models.sharing import twin
from interp.models.stream import streams


def silenced(model: Model, head: Head) -> Model:
    """The model with a head that attends as before and writes nothing.

    Raises:
        ValueError: see `written`.
    """
    return rewritten(model, head, torch.zeros_like(written(model, head)))


def written(model: Model, head: Head) -> Float[Tensor, "d_head d_model"]:
    """What a head's z is multiplied by before it is added to the stream, its slice of W_O.

    Raises:
        ValueError: no plain linear layer takes the heads' z (UndefinedError: nothing does).
    """
    projection = _projection(model, head)
    return projection.weight.detach()[:, _columns(model, projection, head)].T.clone()


def rewritten(model: Model, head: Head, output: Float[Tensor, "d_head d_model"]) -> Model:
    """The model with another slice of W_O for one head.

    Raises:
        ValueError: see `written`.
    """
    projection = _projection(model, head)
    names = {part: name for name, part in model.plain.module.named_modules()}
    weight = projection.weight.detach().clone()
    weight[:, _columns(model, projection, head)] = output.T.to(weight)
    module = twin(model.plain.module)
    module.set_attn_implementation("eager")  # ours answers only modules that a `Plain` holds
    copied = module.get_submodule(names[projection])
    copied.weight = nn.Parameter(weight, requires_grad=False)
    digest = hashlib.sha256(model.weights_hash.encode() + weight.cpu().numpy().tobytes())
    return replace(model, plain=Plain(module), weights_hash=digest.hexdigest())


def _projection(model: Model, head: Head) -> nn.Linear:
    projection = streams(model.plain)[head.layer].projection
    if not isinstance(projection, nn.Linear):
        raise ValueError(
            f"what takes the heads' z in layer {head.layer} is a {type(projection).__name__}, "
            "expected a Linear; graft into a family such as llama."
        )
    return projection


def _columns(model: Model, projection: nn.Linear, head: Head) -> slice:
    d_head = projection.in_features // model.n_heads
    return slice(head.head * d_head, (head.head + 1) * d_head)
