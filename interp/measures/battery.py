"""The task-free battery: what each head does on random tokens and their repeat."""

from collections import defaultdict
from collections.abc import Callable, Iterator

import pandas as pd
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from interp.heads import Head
from interp.measures.offsets import at_offset, offset_dominance, offset_mass
from interp.measures.repeats import Repeats
from interp.measures.sinks import is_sink, sink_gu, sink_mean
from interp.measures.spread import confidence, distance, long_range, n_effective, relative_entropy
from interp.models.model import Model
from interp.models.plain import Plain

N_AT_ONCE = 8
LONG_RANGE = (8, 32)
OFFSETS = (-5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5)


def battery(model: Model, repeats: Repeats) -> pd.DataFrame:
    """Scores of every head on repeated blocks, one row a head, means over sequences.

    Each is a mean probability unless it says otherwise:

    - `previous_token`: attention to the token before, where that is not position 0.
    - `duplicate`: in the second block, attention to the same token in the first.
    - `induction`: in the second block, attention to the token after that one. The last query of
      the block is left out; with two blocks, both conventions for repeats coincide.
    - `first_token`: attention to position 0, of all later queries.
    - `sink_gu`: the same with the first query's own, as published; `sink_rate` the share of
      sequences on which it exceeds .3.
    - `current`: attention to the query itself, position 0 apart.
    - `entropy`: as a share of even attention's, 0 to 1; `n_effective` the number of keys in use at
      the last token of the repeat.
    - `confidence`: the largest weight of a row, specials apart.
    - `distance`: in tokens, of what does not go to special tokens.
    - `long_range_8`, `long_range_32`: attention to keys so far before, over that of even attention,
      0 or more; NaN where blocks are too short.

    Patterns are read layer by layer and a few sequences at once; none is kept.

    Sources: Olsson et al. 2022, arXiv:2209.11895 (with its correction: the follower is the
    target); the others at their functions.
    """
    plain = model.plain
    allowed = plain.allowed(repeats.ids[:1])
    sums: dict[str, Tensor] = defaultdict(lambda: torch.zeros(model.n_layers, model.n_heads))
    for ids, special in _few_at_once(repeats):

        def read(layer: int, pattern: Tensor, special: Tensor = special) -> None:
            for name, values in _scores(pattern, repeats.period, special, allowed[layer]).items():
                sums[name][layer] += values.sum(0)

        read_patterns(plain, ids, read)
    columns = {
        name: (total / len(repeats.ids)).flatten().double().numpy() for name, total in sums.items()
    }
    labels = [Head(*head).label for head in model.heads]
    heads = pd.DataFrame(model.heads, columns=["layer", "head"])
    return heads.assign(label=labels, **columns)


def offset_profile(model: Model, repeats: Repeats) -> pd.DataFrame:
    """Attention by distance on random tokens, a row a head and offset, means over sequences.

    `offset` is how many tokens the key stands before the query; after it, if negative, which only
    an encoder has. `mass` is the mean attention there, `dominance` how often the most of it,
    specials apart, is there; both 0 to 1.
    """
    plain = model.plain
    offsets = [offset for offset in OFFSETS if offset >= 0 or not plain.is_causal]
    end = 1 + 2 * repeats.period
    sums = torch.zeros(2, len(offsets), model.n_layers, model.n_heads)
    for ids, special in _few_at_once(repeats):

        def read(layer: int, pattern: Tensor, special: Tensor = special) -> None:
            text = pattern[:, :, :end, :end]
            for place, offset in enumerate(offsets):
                sums[0, place, layer] += offset_mass(text, offset).sum(0)
                sums[1, place, layer] += offset_dominance(pattern, offset, special).sum(0)

        read_patterns(plain, ids, read)
    mass, dominance = (sums / len(repeats.ids)).double().numpy()
    rows = pd.MultiIndex.from_product(
        [offsets, range(model.n_layers), range(model.n_heads)], names=["offset", "layer", "head"]
    ).to_frame(index=False)
    table = rows.assign(mass=mass.ravel(), dominance=dominance.ravel())
    return table[["layer", "head", "offset", "mass", "dominance"]]


def repeat_losses(model: Model, repeats: Repeats) -> tuple[float, float]:
    """Mean loss in nats on the first and on the second block; no drop, no induction to explain.

    Raises:
        ValueError: the model sees the next token, so that its loss on it says nothing.
    """
    if not model.is_causal:
        raise ValueError(
            f"{model.name} is bidirectional and sees the token that a next-token loss is about; "
            "mask a position and read the answer there instead."
        )
    with torch.inference_mode():
        logits = model.plain(repeats.ids).logits[:, :-1]
        loss = torch.nn.functional.cross_entropy(
            logits.flatten(0, 1), repeats.ids[:, 1:].flatten(), reduction="none"
        ).view(len(repeats.ids), -1)
    return loss[:, : repeats.period].mean().item(), loss[:, repeats.period :].mean().item()


def read_patterns(
    plain: Plain, ids: Int[Tensor, "item pos"], read: Callable[[int, Tensor], None]
) -> None:
    """One forward in which `read(layer, pattern)` sees each layer's pattern, and none is kept."""

    def hook(layer: int, name: str, tensor: Tensor) -> Tensor:
        if name == "pattern":
            read(layer, tensor)
        return tensor

    with torch.inference_mode(), plain.hooked(hook):
        plain.states(ids)


def _few_at_once(repeats: Repeats) -> Iterator[tuple[Tensor, Tensor]]:
    ids, special = (torch.split(each, N_AT_ONCE) for each in (repeats.ids, repeats.special))
    return zip(ids, special, strict=True)


def _scores(
    pattern: Float[Tensor, "item head query key"],
    period: int,
    special: Bool[Tensor, "item pos"],
    allowed: Bool[Tensor, "1 #head query key"],
) -> dict[str, Float[Tensor, "item head"]]:
    end = 1 + 2 * period
    text = pattern[:, :, :end, :end]
    scores = {
        "previous_token": offset_mass(text, 1),
        "duplicate": at_offset(text, period)[..., 1:].mean(-1),
        "induction": at_offset(text, period - 1)[..., 2:-1].mean(-1),
        "first_token": sink_mean(text),
        "sink_gu": sink_gu(text),
        "sink_rate": is_sink(text),
        "current": offset_mass(text, 0),
        "entropy": relative_entropy(pattern, allowed),
        "n_effective": n_effective(pattern[:, :, end - 1 : end])[..., 0],
        "confidence": confidence(pattern, special),
        "distance": distance(pattern, special),
    }
    for least in LONG_RANGE:
        is_there = least < 2 * period
        undefined = torch.full(pattern.shape[:2], torch.nan)
        scores[f"long_range_{least}"] = (
            long_range(pattern, special, least=least) if is_there else undefined
        )
    return scores
