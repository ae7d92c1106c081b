"""Heads to graft on: they neither attend nor act, and their output tells what the model does."""

from collections.abc import Mapping, Sequence

import numpy as np

from interp.encode import Batch
from interp.grafts.found import THRESHOLDS, UNINVOLVED, found
from interp.grafts.moves import LEAST_R_SQUARED, Moves
from interp.heads import Head
from interp.models import Model


def hosts(model: Model, batches: Sequence[Batch], moves: Moves, *, seed: int) -> dict[Head, float]:
    """The heads on which a contribution can be grafted, each with its R² (see `Moves.fit`).

    They lie in the last third of the layers: what an earlier one adds along the direction of the
    last residual is read and undone on the way (in SmolLM2 one of layer 17 carries 2 % of the gap,
    one of layer 18 3 %, however loud). Their verdict is that they neither attend nor matter, and
    their effect at the query is within what counts as none seen.

    Args:
        batches: on which heads are judged; not those on which grafts will be tested.
    """
    first = model.n_layers - max(1, model.n_layers // 3)
    late = [head for head in model.heads if head.layer >= first]
    r_squared = {head: moves.fit(head).r_squared for head in late}
    telling = [head for head in late if r_squared[head] >= LEAST_R_SQUARED]
    if not telling:
        return {}
    table = found(model, batches, heads=telling, seed=seed)
    is_small = table["effect_query"].abs() <= THRESHOLDS.nothing
    able = is_small & (table["verdict"] == UNINVOLVED)
    return {head: r_squared[head] for head in telling if able[head.label]}


def in_random_order(able: Mapping[Head, float], *, least: int, seed: int) -> list[Head]:
    """The heads, shuffled.

    Raises:
        ValueError: there are fewer than `least`.
    """
    if len(able) < least:
        raise ValueError(
            f"expected {least} heads that neither attend nor matter and whose output foretells "
            f"the last residual (R² of {LEAST_R_SQUARED} or more), got {len(able)}; ask for fewer."
        )
    heads = list(able)
    return [heads[place] for place in np.random.default_rng(seed).permutation(len(heads))]
