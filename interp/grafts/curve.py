"""The detection curve: what is planted in a pretrained model's weights, and what is found of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import pandas as pd

from interp.effects.check import check_against_loop
from interp.effects.scopes import Scope
from interp.encode import Batch
from interp.grafts.found import bounds, found
from interp.grafts.graft import grafts
from interp.grafts.hosts import hosts, in_random_order
from interp.grafts.moves import moves
from interp.heads import Head
from interp.items import Item
from interp.models import Model
from interp.progress import Progress, say, silent

N_JUDGED = 64
COLUMNS = [
    "seed", "head", "r_squared", "planted", "effect", "low", "high", "p", "verdict",
    "n_drawings", "n_holding",
]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Parts:
    """Items for three uses, no pair of them in two.

    Attributes:
        fitted: what the heads' outputs foretell is fitted here, and hosts are chosen.
        heard: the loudness of a graft is set here.
        tested: grafts are looked for here, in one drawing after the other.
    """

    fitted: list[Batch]
    heard: list[Batch]
    tested: list[list[Batch]]


def parts(
    model: Model, items: Sequence[Item], *, n_fitted: int, n_heard: int, n_tested: int
) -> Parts:
    """Items in parts of so many pairs, and all that are left as drawings to test on.

    Pairs are taken from the halves of a design in turn, so that every part has all wordings: a
    graft that is fitted to some wordings says less on others.

    Raises:
        ValueError: there are too few for one drawing, or some are left over.
    """
    n_left = len(items) // 2 - n_fitted - n_heard
    if n_left < n_tested or n_left % n_tested:
        raise ValueError(
            f"expected {n_fitted} + {n_heard} pairs and one or more times {n_tested}, got "
            f"{len(items) // 2}; a multiple of {n_tested} must be left to test on."
        )
    start, items = 2 * (n_fitted + n_heard), _in_turn(items)
    return Parts(
        fitted=model.encode(items[: 2 * n_fitted]),
        heard=model.encode(items[2 * n_fitted : start]),
        tested=[
            model.encode(items[first : first + 2 * n_tested])
            for first in range(start, len(items), 2 * n_tested)
        ],
    )


def _in_turn(items: Sequence[Item]) -> list[Item]:
    """The pairs of one half and of the other in turn, each as it stands in its half."""
    halves: dict[str, list[Sequence[Item]]] = {}
    for first in range(0, len(items), 2):
        halves.setdefault(items[first].split, []).append(items[first : first + 2])
    return [
        item for pairs in zip_longest(*halves.values()) for pair in pairs for item in pair or ()
    ]


def detection(
    model: Model,
    each: Parts,
    shares: Sequence[float],
    *,
    n_hosts: int,
    seed: int,
    progress: Progress = silent,
) -> pd.DataFrame:
    """How each planted share is found again, on items that had no part in planting it.

    One row a head and share: `planted`; in the first drawing, the `effect` at the query as a share
    of the gap, with its interval (`low`, `high`), `p`, adjusted for all heads of the model, and the
    head's `verdict`; of all drawings (`n_drawings`), in how many the interval holds what was
    planted (`n_holding`); and how well the head's output foretells the last residual (`r_squared`).
    The share 0 is the model as it is, with a row for every head that could be a host, drawn or not:
    none of them should be found to matter. Each graft is compared with TransformerLens's plain loop
    on the way.

    Heads are tried in random order. One that carries a share at no loudness, as in early layers,
    where what is added is read and undone on the way, is named on stderr and passed over; that is
    settled before anything is looked for.

    Raises:
        ArithmeticError: too few heads carry the shares, or the engine and the plain loop disagree.
        ValueError: there are fewer than `n_hosts` heads to graft on.
    """
    moved = moves(model, each.fitted)
    able = hosts(model, [each.fitted[0].first(N_JUDGED)], moved, seed=seed)
    as_it_is = found(model, each.tested[0], seed=seed)
    rows = [_row(as_it_is, head) | {"planted": 0.0} for head in able]
    n_left = n_hosts
    with progress(f"grafts, seed {seed}", n_hosts * len(shares)) as advance:
        for head in in_random_order(able, least=n_hosts, seed=seed):
            try:
                of_share = grafts(model, moved, each.heard, head, shares)
            except ArithmeticError as reason:
                say(f"{reason} The next is tried.")
                continue
            for share, planted in of_share.items():
                rows.append(_looked_for(planted, each, head, share, seed=seed))
                advance(1)
            n_left -= 1
            if not n_left:
                break
        else:
            raise ArithmeticError(f"{n_left} of {n_hosts} grafts found no head that carries them.")
    r_squared = {head.label: able[head] for head in able}
    table = pd.DataFrame(rows).fillna({"n_drawings": 0, "n_holding": 0})
    return table.assign(seed=seed, r_squared=table["head"].map(r_squared))[COLUMNS]


def _looked_for(
    planted: Model, each: Parts, head: Head, share: float, *, seed: int
) -> dict[str, Any]:
    """What is found of one graft, on the drawings one by one."""
    check_against_loop(planted, each.tested[0][0], heads=[head], scopes=[Scope.QUERY])
    ends = [bounds(planted, drawing, head) for drawing in each.tested]
    return _row(found(planted, each.tested[0], seed=seed), head) | {
        "planted": share,
        "n_drawings": len(each.tested),
        "n_holding": sum(low <= share <= high for low, high in ends),
    }


def _row(table: pd.DataFrame, head: Head) -> dict[str, Any]:
    row = table.loc[head.label]
    return {
        "head": head.label,
        "effect": row["effect_query"],
        "low": row["effect_query_low"],
        "high": row["effect_query_high"],
        "p": row["effect_query_p"],
        "verdict": row["verdict"],
    }
