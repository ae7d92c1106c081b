"""A head that gains an effect of a size that was chosen, by its slice of W_O alone."""

from collections.abc import Sequence

from interp.effects.engine import sweep
from interp.effects.scopes import Scope
from interp.encode import Batch
from interp.grafts.apart import rewritten, written
from interp.grafts.moves import Moves
from interp.heads import Head
from interp.models import Model

TOLERANCE = 0.02
MOST_TRIALS = 6


def grafts(
    model: Model, moves: Moves, heard: Sequence[Batch], head: Head, shares: Sequence[float]
) -> dict[float, Model]:
    """For each share of the gap, the model with a head that gives it at the query.

    To what the head writes is added what its output foretells of the last residual, in the
    direction in which candidates are told apart (`Moves.told_by`): it says again what the model
    comes to. How loudly is set on `heard`, by the head's exact effect there, to within 2 % of each
    share.

    Args:
        heard: items that `moves` has not seen.

    Raises:
        ValueError: a share is not positive, the head's output foretells too little, or its layer
            has no plain linear output projection.
        ArithmeticError: no loudness gives a share.
    """
    if min(shares) <= 0:
        raise ValueError(
            f"shares must be positive, got {min(shares)}; the model as it is has the share 0."
        )
    added, own = moves.told_by(head), written(model, head)
    shares_at = {0.0: effect_share(model, heard, head)}
    planted = {}
    for share in sorted(shares, reverse=True):
        loudness = _next(shares_at, share)
        for _ in range(MOST_TRIALS):
            candidate = rewritten(model, head, own + loudness * added)
            shares_at[loudness] = effect_share(candidate, heard, head)
            if abs(shares_at[loudness] - share) <= TOLERANCE * share:
                planted[share] = candidate
                break
            loudness = _next(shares_at, share)
        else:
            raise ArithmeticError(
                f"no loudness of {head.label} gave {share:.1%} of the gap, the nearest "
                f"{min(shares_at.values(), key=lambda found: abs(found - share)):.1%}; a head in a "
                "later layer may."
            )
    return planted


def effect_share(model: Model, batches: Sequence[Batch], head: Head) -> float:
    """A head's effect by resample at the query, as a share of the gap (ratio of means)."""
    table = sweep(model, batches, scopes=[Scope.QUERY], heads=[head])
    means = table[["intact", "edited", "corrupt"]].mean()
    return float((means["intact"] - means["edited"]) / (means["intact"] - means["corrupt"]))


def _next(shares_at: dict[float, float], share: float) -> float:
    """The loudness on the line through the two nearest that were tried; at first the share itself.

    A loudness of 1 says again all that the head's output foretells.
    """
    if len(shares_at) == 1:
        return share - shares_at[0.0]
    nearest = sorted(shares_at, key=lambda loudness: abs(shares_at[loudness] - share))[:2]
    (one, one_share), (other, other_share) = ((each, shares_at[each]) for each in nearest)
    return one + (share - one_share) * (other - one) / (other_share - one_share)
