"""The detection curve: what is planted in a pretrained model's weights, and what is found of it."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from interp.effects.check import check_against_loop
from interp.effects.scopes import Scope
from interp.encode import Batch
from interp.grafts.found import found
from interp.grafts.graft import grafts
from interp.grafts.hosts import drawn, hosts
from interp.grafts.moves import moves
from interp.heads import Head
from interp.items import Item
from interp.models import Model
from interp.progress import Progress, silent


@dataclass(frozen=True, kw_only=True)
class Parts:
    """Items for three uses, no pair of them in two.

    Attributes:
        fitted: what the heads' outputs foretell is fitted here, and hosts are chosen.
        heard: the loudness of a graft is set here.
        tested: grafts are looked for here.
    """

    fitted: list[Batch]
    heard: list[Batch]
    tested: list[Batch]


def parts(model: Model, items: Sequence[Item], *, n_fitted: int, n_tested: int) -> Parts:
    """Items in three parts as they stand: the first pairs, the last, and what is between them.

    Raises:
        ValueError: there are no pairs left between them.
    """
    n_pairs = len(items) // 2
    if n_pairs <= n_fitted + n_tested:
        raise ValueError(
            f"expected more than {n_fitted} + {n_tested} pairs, got {n_pairs}; none would be left "
            "to set how loud a graft is."
        )
    ends = 2 * n_fitted, len(items) - 2 * n_tested
    return Parts(
        fitted=model.encode(items[: ends[0]]),
        heard=model.encode(items[ends[0] : ends[1]]),
        tested=model.encode(items[ends[1] :]),
    )


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

    One row a head and share: `planted`; the `effect` at the query as a share of the gap, with its
    interval (`low`, `high`); `p`, adjusted for all heads of the model; whether the interval `holds`
    what was planted; the head's `reading`; and how well its output foretells the last residual
    (`r_squared`). The share 0 is the model as it is, with a row for every head that could be a
    host, drawn or not: none of them should be found to matter. Each planted head is compared with
    TransformerLens's plain loop on the way.

    Raises:
        ArithmeticError: see `grafts`, or the engine and the plain loop disagree.
        ValueError: there are fewer than `n_hosts` heads to graft on.
    """
    moved = moves(model, each.fitted)
    able = hosts(model, each.fitted, moved, seed=seed)
    chosen = drawn(able, n_hosts, seed=seed)
    as_it_is = found(model, each.tested, seed=seed)
    rows = [_row(as_it_is, head, 0.0, r_squared) for head, r_squared in able.items()]
    with progress("grafts", n_hosts * len(shares)) as advance:
        for head in chosen:
            for share, planted in grafts(model, moved, each.heard, head, shares).items():
                check_against_loop(planted, each.tested[0], heads=[head], scopes=[Scope.QUERY])
                table = found(planted, each.tested, seed=seed)
                rows.append(_row(table, head, share, able[head]))
                advance(1)
    return pd.DataFrame(rows).assign(seed=seed)


def _row(table: pd.DataFrame, head: Head, share: float, r_squared: float) -> dict[str, object]:
    row = table.loc[head.label]
    low, high = row["effect_query_low"], row["effect_query_high"]
    return {
        "head": head.label,
        "r_squared": r_squared,
        "planted": share,
        "effect": row["effect_query"],
        "low": low,
        "high": high,
        "p": row["effect_query_p"],
        "holds": bool(low <= share <= high) if share else None,
        "reading": row["reading"],
    }
