"""Orders of heads: who leads by a measure on some items."""

import numpy as np
from jaxtyping import Float, Int


def order_of(means: Float[np.ndarray, " head"], *, seed: int) -> Int[np.ndarray, " head"]:
    """Places of the heads, the highest mean first, those without one (NaN) last.

    Heads that are equal up to rounding in fp32 stand in random order, so that no measure gains by
    how heads are numbered.
    """
    if np.isnan(means).all():
        raise ValueError("an order needs a head with a value, got none; leave the measure out.")
    step = 1e-6 * np.nanmax(np.abs(means)) or 1.0
    shuffled = np.random.default_rng(seed).permutation(len(means))
    levels = np.where(np.isnan(means), -np.inf, np.round(means / step))[shuffled]
    return shuffled[np.argsort(-levels, kind="stable")]
