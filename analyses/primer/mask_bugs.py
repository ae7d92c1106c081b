"""A causal attention written by hand, ten classic ways to get its mask wrong, and many to get it
right."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf
from random import Random

import torch
from einops import rearrange
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

import interp.attention as written_out
from interp.attention import causal_mask
from interp.probes import leak_probe

Attention = Callable[[Tensor, Tensor, Tensor], Tensor]
"""`attention(query, key, value)`, each `[batch, head, pos, d_head]`, gives z."""


def _open(n_pos: int) -> Bool[Tensor, "query key"]:
    return torch.ones(n_pos, n_pos, dtype=torch.bool).tril()


def _scores(query: Tensor, key: Tensor) -> Float[Tensor, "batch head query key"]:
    scores: Tensor = query @ key.mT * query.shape[-1] ** -0.5
    return scores


def _finish(scores: Tensor, value: Tensor) -> Tensor:
    z: Tensor = scores.softmax(-1) @ value
    return z


def off_by_one(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """The diagonal is one too far: each position sees the next."""
    is_open = torch.ones(query.shape[2], query.shape[2], dtype=torch.bool).tril(1)
    return _finish(_scores(query, key).masked_fill(~is_open, -inf), value)


def after_softmax(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Weights on the future are set to 0 after the softmax, which has already counted them."""
    return _scores(query, key).softmax(-1) * _open(query.shape[2]) @ value


def one_head_forgotten(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """The mask is applied to every head but the last."""
    scores = _scores(query, key)
    masked = scores.masked_fill(~_open(query.shape[2]), -inf)
    return _finish(torch.cat([masked[:, :-1], scores[:, -1:]], dim=1), value)


def transposed(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Queries and keys change places in the mask: each position sees the future alone."""
    return _finish(_scores(query, key).masked_fill(~_open(query.shape[2]).T, -inf), value)


def broadcast_along_keys(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """A mask of one row, of the last query, is broadcast over all of them."""
    return _finish(_scores(query, key).masked_fill(~_open(query.shape[2])[-1:], -inf), value)


def tiny_instead_of_huge(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Masked scores become 1e-9 where −1e9 was meant."""
    return _finish(_scores(query, key).masked_fill(~_open(query.shape[2]), 1e-9), value)


def boolean_added(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """The truth values are added to the scores as 1 and 0, not as 0 and −∞."""
    return _finish(_scores(query, key) + _open(query.shape[2]).float(), value)


def padding_instead(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Padding and causality are joined by "or": a real token is seen from everywhere."""
    is_real = torch.ones(query.shape[2], dtype=torch.bool)
    return _finish(_scores(query, key).masked_fill(~(_open(query.shape[2]) | is_real), -inf), value)


def two_sided_window(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """A sliding window of distances without a sign: as far into the future as into the past."""
    places = torch.arange(query.shape[2])
    is_near = (places[:, None] - places).abs() < 4
    return _finish(_scores(query, key).masked_fill(~is_near, -inf), value)


def under_softcap(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """A large negative number is put in before the soft-cap, which caps it too."""
    scores = _scores(query, key).masked_fill(~_open(query.shape[2]), -1e4)
    return _finish(5 * torch.tanh(scores / 5), value)


BUGS: tuple[Attention, ...] = (
    off_by_one,
    after_softmax,
    one_head_forgotten,
    transposed,
    broadcast_along_keys,
    tiny_instead_of_huge,
    boolean_added,
    padding_instead,
    two_sided_window,
    under_softcap,
)


def prefix_seen_whole(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """The first six positions see each other whole, as in a prefix language model.

    No bug where it is meant. The last token of a longer text is not among them, so that the probe
    sees nothing: it must be asked at every length.
    """
    places = torch.arange(query.shape[2])
    in_prefix = (places < 6) & (places[:, None] < 6)
    return _finish(_scores(query, key).masked_fill(~(_open(len(places)) | in_prefix), -inf), value)


@dataclass(frozen=True)
class Variant:
    """A correct causal attention, and in what it differs from the plain one."""

    name: str
    attention: Attention
    n_pos: int


def correct_variants(n_variants: int, *, seed: int) -> Iterator[Variant]:
    """Causal attentions that are right, no two alike, drawn from five ways of writing it.

    Ours with soft-cap, window, bias, sinks or grouped keys; torch's own; a large negative number in
    place of −∞; a mask after the exponential with the rows brought back to 1; and queries in
    chunks, the keys of the past held in a cache. Each at 3 to 40 positions.
    """
    rng = Random(seed)
    seen: set[tuple[str, int]] = set()
    while len(seen) < n_variants:
        n_pos = rng.randint(3, 40)
        make = rng.choice((_ours, _ours, _torch, _large_negative, _renormalised, _in_chunks))
        name, attention = make(rng, n_pos)
        if (name, n_pos) not in seen:
            seen.add((name, n_pos))
            yield Variant(name, attention, n_pos)


def _ours(rng: Random, n_pos: int) -> tuple[str, Attention]:
    window = rng.choice((None, 1, 3, n_pos))
    softcap = rng.choice((None, 2.0, 30.0))
    has_bias, has_sinks, is_grouped = (rng.random() < 0.5 for _ in range(3))

    def attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        n_heads = query.shape[1]
        places = torch.arange(n_pos)
        slopes = 2.0 ** -torch.arange(n_heads)[:, None, None]
        alibi = (slopes * -(places[:, None] - places).abs())[None]
        step = 2 if is_grouped else 1
        return written_out.attention(
            query,
            key[:, ::step],
            value[:, ::step],
            scale=query.shape[-1] ** -0.5,
            mask=causal_mask(n_pos, n_pos, window=window),
            softcap=softcap,
            bias=alibi if has_bias else None,
            sinks=torch.linspace(-1, 1, n_heads) if has_sinks else None,
        )

    options = {"window": window, "softcap": softcap, "bias": has_bias, "sinks": has_sinks}
    said = ", ".join(f"{name} {value}" for name, value in options.items() if value)
    return f"ours {said}{', grouped keys' if is_grouped else ''}", attention


def _torch(rng: Random, n_pos: int) -> tuple[str, Attention]:
    is_flag = rng.random() < 0.5

    def attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        mask = None if is_flag else _open(n_pos)
        return nn.functional.scaled_dot_product_attention(
            query, key, value, attn_mask=mask, is_causal=is_flag
        )

    return f"torch, {'is_causal' if is_flag else 'a mask'}", attention


def _large_negative(rng: Random, n_pos: int) -> tuple[str, Attention]:
    number = rng.choice((-1e4, -1e9, torch.finfo(torch.float32).min))

    def attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return _finish(_scores(query, key).masked_fill(~_open(n_pos), number), value)

    return f"{number:.0e} in place of −∞", attention


def _renormalised(rng: Random, n_pos: int) -> tuple[str, Attention]:
    def attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        weights = _scores(query, key).softmax(-1) * _open(n_pos)
        return weights / weights.sum(-1, keepdim=True) @ value

    return "masked after the softmax, rows brought back to 1", attention


def _in_chunks(rng: Random, n_pos: int) -> tuple[str, Attention]:
    size = rng.choice((1, 2, 3))

    def attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        parts = []
        for start in range(0, n_pos, size):
            end = min(start + size, n_pos)
            mask = causal_mask(end - start, end)
            scores = _scores(query[:, :, start:end], key[:, :, :end])
            parts.append(_finish(scores.masked_fill(~mask, -inf), value[:, :, :end]))
        return torch.cat(parts, dim=2)

    return f"queries in chunks of {size}", attention


class TwoLayers(nn.Module):
    """A small model with random weights around an attention: embeddings, two layers, logits."""

    D_MODEL, D_HEAD, N_HEADS, VOCABULARY = 16, 4, 4, 11

    def __init__(self, attention: Attention, *, seed: int) -> None:
        super().__init__()
        self._attention = attention
        generator = torch.Generator().manual_seed(seed)

        def drawn(*shape: int) -> Tensor:
            return torch.randn(shape, generator=generator)

        self.embedding = drawn(self.VOCABULARY, self.D_MODEL)
        self.position = drawn(64, self.D_MODEL)
        inner = self.N_HEADS * self.D_HEAD
        self.layers = [[drawn(self.D_MODEL, inner) / 4 for _ in range(4)] for _ in range(2)]

    def forward(self, ids: Int[Tensor, "batch pos"]) -> Float[Tensor, "batch pos vocab"]:
        """Logits."""
        stream = self.embedding[ids] + self.position[: ids.shape[1]]
        for to_query, to_key, to_value, to_stream in self.layers:
            parts = (
                rearrange(stream @ weight, "b pos (head d) -> b head pos d", head=self.N_HEADS)
                for weight in (to_query, to_key, to_value)
            )
            z = self._attention(*parts)
            stream = stream + z.transpose(1, 2).flatten(2) @ to_stream.T
        logits: Tensor = stream @ self.embedding.T
        return logits


def leaks(attention: Attention, *, n_pos: int, seed: int) -> bool:
    """Whether the leak probe says that a small model with this attention sees the future."""
    model = TwoLayers(attention, seed=seed)
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(TwoLayers.VOCABULARY, (2, n_pos), generator=generator)
    try:
        leak_probe(model, ids)
    except ValueError:
        return True
    return False
