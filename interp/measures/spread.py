"""How far and how wide a head looks: entropy, keys in use, confidence, distance, long range."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor


def entropy(
    pattern: Float[Tensor, "*row key"],
) -> Float[Tensor, "*row"]:
    """The entropy of each row in nats, 0 to the log of the number of keys; 0 log 0 is 0."""
    nats: Tensor = torch.special.entr(pattern).sum(-1)
    return nats


def relative_entropy(
    pattern: Float[Tensor, "item head query key"],
    allowed: Bool[Tensor, "#item #head query key"],
) -> Float[Tensor, "item head"]:
    """The mean entropy as a share of what even attention has, 0 to 1.

    Rows with one key only are left out: they have no choice.
    """
    n_keys = allowed.sum(-1)
    most = n_keys.clamp(min=2).log()
    shares = torch.where(n_keys > 1, entropy(pattern) / most, torch.nan)
    return shares.nanmean(-1)


def n_effective(
    pattern: Float[Tensor, "item head query key"],
) -> Float[Tensor, "item head query"]:
    """The number of keys in use, `exp H`: as many as even attention over that many would have."""
    return entropy(pattern).exp()


def participation(
    pattern: Float[Tensor, "item head query key"],
) -> Float[Tensor, "item head query"]:
    """The number of keys in use by the largest weights, `1 / Σ A²`."""
    return 1 / pattern.square().sum(-1)


def confidence(
    pattern: Float[Tensor, "item head query key"], special: Bool[Tensor, "item key"]
) -> Float[Tensor, "item head"]:
    """The mean of the largest weight of each row, specials apart, 0 to 1.

    Source: Voita et al. 2019, arXiv:1905.09418, who leave out the end of the sentence; here all
    special tokens are left out, and their rows too.
    """
    largest = pattern.masked_fill(special[:, None, None, :], 0.0).amax(-1)
    rows = ~special[:, None]
    return (largest * rows).sum(-1) / rows.sum(-1)


def distance(
    pattern: Float[Tensor, "item head query key"], special: Bool[Tensor, "item key"]
) -> Float[Tensor, "item head"]:
    """How far away a head looks in tokens, specials apart: `Σ_j Ã (i − j)`, either side.

    Ã is attention as a share of what does not go to special tokens. A row of a special token, or
    one that leaves less than .001 for the others, is left out.
    """
    length = pattern.shape[-1]
    places = torch.arange(length)
    away = (places[:, None] - places).abs().float()
    seen = pattern * ~special[:, None, None, :]
    left = seen.sum(-1)
    counts = (left >= 1e-3) & ~special[:, None]
    means = torch.where(counts, (seen * away).sum(-1) / left, torch.nan)
    return means.nanmean(-1)


def long_range(
    pattern: Float[Tensor, "item head query key"], special: Bool[Tensor, "item key"], *, least: int
) -> Float[Tensor, "item head"]:
    """Attention to keys at least `least` tokens before, over that of even attention; 1 is even.

    Even attention is that over all keys before the query and itself that are not special. The mean
    over queries with such a key, of the one over the mean of the other.

    Raises:
        ValueError: no query has a key so far before it.
    """
    length = pattern.shape[-1]
    places = torch.arange(length)
    is_before = places <= places[:, None]
    is_far = (places[:, None] - places) >= least
    keys = ~special[:, None, :] & is_before
    n_far, n_keys = (keys & is_far).sum(-1), keys.sum(-1)
    rows = (n_far > 0) & ~special
    if not rows.any(-1).all():
        raise ValueError(
            f"no query has a key {least} tokens before it in texts of {length} tokens; give longer "
            "texts or a smaller distance."
        )
    even = torch.where(rows, n_far / n_keys.clamp(min=1), 0.0).sum(-1) / rows.sum(-1)
    far = (pattern * (keys & is_far)[:, None]).sum(-1)
    mean = (far * rows[:, None]).sum(-1) / rows.sum(-1)[:, None]
    return mean / even[:, None]
