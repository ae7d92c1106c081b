"""What a token is before any attention: its embedding, and what the first layer makes of it."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from interp.models.plain import Call, Plain
from interp.models.template import first_tensor
from interp.models.undefined import UndefinedError

N_AT_ONCE = 4096


def embedding(plain: Plain, d_model: int) -> Float[Tensor, "vocab d_model"]:
    """The table of token embeddings.

    Raises:
        UndefinedError: the table is narrower than the residual stream, and widened later.
    """
    table = plain.module.get_input_embeddings().weight
    assert isinstance(table, Tensor)
    if table.shape[1] != d_model:
        raise UndefinedError(
            f"the embeddings of {type(plain.module).__name__} are {table.shape[1]} wide and its "
            f"residual stream {d_model}, so a token has no direction in the stream."
        )
    return table.detach()


def effective_embedding(plain: Plain) -> Float[Tensor, "vocab d_model"]:
    """What the first layer gives for each token alone in a text, its heads writing nothing.

    Where embeddings are tied to the unembedding, a token's direction is this and not the table's.
    Positions, where a family adds them to the stream, are those of a first token.
    """
    n_tokens = len(plain.module.get_input_embeddings().weight)
    ids = torch.arange(n_tokens, device=plain.module.device)[:, None]
    return torch.cat([_behind_first_layer(plain, few) for few in torch.split(ids, N_AT_ONCE)])


class _Enough(Exception):  # noqa: N818  no error: the rest of the forward is not needed
    """Raised to end a forward behind its first layer."""


def _behind_first_layer(plain: Plain, ids: Int[Tensor, "item 1"]) -> Float[Tensor, "item d_model"]:
    found: list[Tensor] = []

    def write_nothing(call: Call) -> Tensor:
        return torch.zeros_like(call.query[..., : call.value.shape[-1]])

    def stop(module: nn.Module, taken: object, given: object) -> None:
        found.append(first_tensor(given)[:, 0])
        raise _Enough

    handle = plain.anatomy.layers[0].register_forward_hook(stop)
    try:
        with torch.inference_mode(), plain.attending(write_nothing):
            plain.states(ids)
    except _Enough:
        pass
    finally:
        handle.remove()
    return found[0]
