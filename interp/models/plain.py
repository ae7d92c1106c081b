"""The plain model: the pretrained model's own modules, with our attention inside.

transformers looks attention and mask functions up by name. Ours are registered there once; which
function a module then runs is decided by the `Plain` that holds it.
"""

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from transformers import AttentionInterface
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

from interp.attention import attention
from interp.models.anatomy import Anatomy, dissect

_NAME = "interp"
LayerHook = Callable[[int, str, Tensor], Tensor]


@dataclass(frozen=True)
class Call:
    """One layer's attention, as the model asks for it: post-rotary, heads before positions.

    `options` are the further arguments of `interp.attention.attention`.
    """

    layer: int
    query: Tensor
    key: Tensor
    value: Tensor
    options: dict[str, Any]


Attend = Callable[[Call], Tensor]


def attend(call: Call) -> Tensor:
    """Our attention, nothing edited: z, heads before positions."""
    return attention(call.query, call.key, call.value, **call.options)


class Plain:
    """A pretrained model that runs `interp.attention`, and where its parts are.

    The model handed in is changed: it is put in eval mode and its attention becomes ours.

    Attributes:
        module: the transformers model.
        anatomy: its blocks, its final norm and its unembedding.
        is_causal: whether changing the last token leaves every earlier position as it was.

    Raises:
        ValueError: the family does not run our attention once a layer, or its logits are not made
            from the last block's output in a way known here.
    """

    def __init__(self, module: Any) -> None:
        self.module = module.eval()
        self._attend: Attend = attend
        self._layer_of: dict[nn.Module, int] = {}
        self._called: list[nn.Module] = []
        for part in module.modules():
            _PLAIN_OF[part] = weakref.ref(self)
        module.set_attn_implementation(_NAME)
        self.anatomy: Anatomy = dissect(module, self._attention_modules())
        self._layer_of = {part: layer for layer, part in enumerate(self.anatomy.attentions)}
        self.is_causal = self._last_token_moves_nothing()

    def __call__(self, ids: Int[Tensor, "item pos"]) -> Any:
        """The model's own output for sequences of equal length, without padding."""
        return self.module(input_ids=ids, use_cache=False)

    def states(self, ids: Int[Tensor, "item pos"]) -> None:
        """Run the blocks for their hooks, and compute no logits."""
        self.module.base_model(input_ids=ids, use_cache=False)

    @contextmanager
    def attending(self, attend: Attend) -> Iterator[None]:
        """Let `attend` answer each layer's attention while the block runs."""
        before, self._attend = self._attend, attend
        try:
            yield
        finally:
            self._attend = before

    @contextmanager
    def hooked(self, hook: LayerHook) -> Iterator[None]:
        """Run attention with `hook(layer, name, tensor)` at each of its six points."""

        def hooked_attention(call: Call) -> Tensor:
            hook_here = partial(hook, call.layer)
            return attention(call.query, call.key, call.value, hook=hook_here, **call.options)

        with self.attending(hooked_attention):
            yield

    def readout(
        self, residual: Float[Tensor, "row d_model"], columns: Int[Tensor, "row column"] | None
    ) -> Float[Tensor, "row vocab"]:
        """Logits of the last block's output; with `columns`, in each row only those asked for."""
        return self.anatomy.readout(residual, columns)

    def answer(
        self, module: nn.Module, query: Tensor, key: Tensor, value: Tensor, options: dict[str, Any]
    ) -> Tensor:
        """What a module's attention gives, through whoever answers at the moment."""
        self._called.append(module)
        call = Call(self._layer_of.get(module, -1), query, key, value, options)
        return self._attend(call)

    def _last_token_moves_nothing(self) -> bool:
        ids = torch.tensor([[0, 1, 2, 3], [0, 1, 2, 4]], device=self.module.device)
        with torch.inference_mode():
            states = self.module.base_model(input_ids=ids, use_cache=False)[0]
        return torch.equal(states[0, :-1], states[1, :-1])

    def _attention_modules(self) -> list[nn.Module]:
        """The modules that call our attention in one forward, in order."""
        self._called.clear()
        with torch.inference_mode():
            self(torch.zeros(1, 3, dtype=torch.long, device=self.module.device))
        return list(self._called)


_PLAIN_OF: "weakref.WeakKeyDictionary[nn.Module, weakref.ref[Plain]]" = weakref.WeakKeyDictionary()


def _registered_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    softcap: float | None = None,
    s_aux: Tensor | None = None,
    position_bias: Tensor | None = None,
    **ignored: Any,
) -> tuple[Tensor, None]:
    """Our attention under the signature that transformers calls; z returns positions first."""
    plain = _PLAIN_OF[module]()
    assert plain is not None
    if attention_mask is not None and attention_mask.dtype != torch.bool:
        raise ValueError(
            f"{type(module).__name__} makes its own additive mask; "
            "expected the boolean mask that was registered for it."
        )
    options = {
        "scale": query.shape[-1] ** -0.5 if scaling is None else scaling,
        "mask": attention_mask,
        "softcap": softcap,
        "sinks": s_aux,
        "bias": position_bias,
    }
    z = plain.answer(module, query, key, value, options)
    return z.transpose(1, 2).contiguous(), None


def _boolean_mask(*args: Any, **kwargs: Any) -> Tensor | None:
    """transformers' own mask, True where a query may attend, and never left out when causal."""
    kwargs["allow_is_causal_skip"] = False
    mask: Tensor | None = sdpa_mask(*args, **kwargs)
    return mask


AttentionInterface.register(_NAME, _registered_attention)
AttentionMaskInterface.register(_NAME, _boolean_mask)
