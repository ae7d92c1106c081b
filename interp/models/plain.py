"""The plain model: the pretrained model's own modules, with our attention inside."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

import interp.attention as written_out
from interp.models import holdouts, owners
from interp.models.anatomy import Anatomy, dissect, probe
from interp.models.inputs import check_names, padded_inputs, real_tokens
from interp.models.offload import Residence
from interp.models.rope import forget_longer_texts
from interp.models.sharing import unshare_layers

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
    return written_out.attention(call.query, call.key, call.value, **call.options)


class Plain:
    """A pretrained model that runs `interp.attention`, and where its parts are.

    The model handed in is changed: it is put in eval mode, its attention becomes ours, and layers
    that were one module become several.

    Attributes:
        module: the transformers model.
        anatomy: its blocks, its final norm and its unembedding.
        residence: holds the weights of the layer at hand, where weights are offloaded.
        is_causal: whether changing the last token leaves every earlier position as it was.

    Raises:
        ValueError: the family does not run our attention once a layer, its output with our
            attention is not its output with its own, or its logits are not made from the last
            block's output in a way known here.
    """

    def __init__(self, module: Any) -> None:
        self.module = module.eval()
        self._attend: Attend = attend
        self._layer_of: dict[nn.Module, int] = {}
        self._real: Tensor | None = None
        _refuse_two_halves(module)
        own_output, own_name = probe(module)[0], module.config._attn_implementation
        unshare_layers(module)
        forget_longer_texts(module)
        owners.own(self, module)
        if not holdouts.rebind(module):
            module.set_attn_implementation(owners.NAME)
        self._refuse_another_output(own_output, own_name)
        self.residence = Residence()
        self.anatomy: Anatomy = dissect(module, self._attention_modules())
        self.is_causal = self._last_token_moves_nothing()

    def __call__(
        self,
        ids: Int[Tensor, "item pos"],
        attention_mask: Int[Tensor, "..."] | Bool[Tensor, "..."] | None = None,
        **inputs: Any,
    ) -> Any:
        """The model's own output.

        Rows of unequal length are padded on either side, and the mask has 1 for each token and 0
        for each pad; positions then count the tokens of a row alone. The attention of a pad is 0
        to everything. An encoder's mask may be left out.

        Args:
            attention_mask: of the shape of the ids.
            inputs: what else the model takes, such as `token_type_ids`.

        Raises:
            ValueError: an argument that the model would ignore, or a mask that does not fit.
        """
        check_names(self.module, inputs)
        real = real_tokens(self.module, ids, attention_mask, is_causal=self.is_causal)
        if real is None:
            return self.module(input_ids=ids, use_cache=False, **inputs)
        padded = {**padded_inputs(self.module, real), **inputs}
        self._real = real
        try:
            return self.module(input_ids=ids, use_cache=False, **padded)
        finally:
            self._real = None

    def states(self, ids: Int[Tensor, "item pos"]) -> None:
        """Run the blocks for their hooks, without padding, and compute no logits."""
        self.module.base_model(input_ids=ids, use_cache=False)

    def last_block(self, ids: Int[Tensor, "item pos"]) -> Float[Tensor, "item pos d_model"]:
        """The last block's output, without padding and logits."""
        given: list[Tensor] = []

        def keep(module: nn.Module, inputs: Any, output: Any) -> None:
            given.append(output[0] if isinstance(output, tuple) else output)

        handle = self.anatomy.layers[-1].register_forward_hook(keep)
        try:
            self.states(ids.to(self.module.device))
        finally:
            handle.remove()
        return given[0]

    def allowed(
        self,
        ids: Int[Tensor, "item pos"],
        attention_mask: Int[Tensor, "..."] | Bool[Tensor, "..."] | None = None,
    ) -> list[Bool[Tensor, "item head query key"]]:
        """For each layer, where a query may attend: what it can reach, whatever it does.

        The head axis is 1 long where all heads have the same mask.
        """
        masks: list[Tensor] = []

        def keep(call: Call) -> Tensor:
            mask, n_query, n_key = call.options["mask"], call.query.shape[2], call.key.shape[2]
            if mask is None:
                mask = torch.ones(1, 1, 1, 1, dtype=torch.bool, device=ids.device)
            masks.append(mask.expand(len(ids), -1, n_query, n_key))
            return attend(call)

        with torch.inference_mode(), self.attending(keep):
            self(ids, attention_mask)
        return masks

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
            return attend(
                replace(call, options={**call.options, "hook": partial(hook, call.layer)})
            )

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
        layer = self._layer_of.setdefault(module, len(self._layer_of))
        if self._real is not None:
            real_rows = self._real[:, None, :, None]
            options = {**options, "mask": options["mask"] & real_rows}
        return self._attend(Call(layer, query, key, value, options))

    def _last_token_moves_nothing(self) -> bool:
        ids = torch.tensor([[0, 1, 2, 3], [0, 1, 2, 4]], device=self.module.device)
        with torch.inference_mode():
            states = self.module.base_model(input_ids=ids, use_cache=False)[0]
        # not to the last bit: experts sum over other sets of tokens
        return _is_close(states[0, :-1], states[1, :-1])

    def _attention_modules(self) -> list[nn.Module]:
        """The modules that call our attention in one forward, in order."""
        layers: list[int] = []

        def count(call: Call) -> Tensor:
            layers.append(call.layer)
            return attend(call)

        with self.attending(count):
            probe(self.module)
        modules = list(self._layer_of)  # in order of their first calls
        return [modules[layer] for layer in layers]

    def _refuse_another_output(self, own: Tensor, own_name: str) -> None:
        ours = probe(self.module)[0]
        if not _is_close(ours, own):
            raise ValueError(
                f"{type(self.module).__name__} gives another output with our attention than with "
                f"its own {own_name!r} ({(ours - own).abs().max():.2g} apart); load it with "
                "another attn_implementation, or this family or configuration is not supported."
            )


def _is_close(one: Tensor, other: Tensor) -> bool:
    """Equal to 1e-5 of the largest value in fp32, and as many roundings in another dtype."""
    tolerance = 84 * torch.finfo(other.dtype).eps * other.abs().max()
    return bool((one - other).abs().max() <= tolerance)


def _refuse_two_halves(module: Any) -> None:
    if getattr(module.config, "is_encoder_decoder", False):
        raise ValueError(
            f"{type(module).__name__} is an encoder with a decoder: a layer and a head name three "
            "heads there, in the encoder, in the decoder and across; load the encoder alone, such "
            "as T5EncoderModel."
        )
