"""All simulations as one table: what is claimed, what was measured, and whether it holds."""

from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd

from interp.progress import Progress, silent
from interp.simulation import power
from interp.simulation.idle import called_idle
from interp.simulation.nulls import SYMMETRIC, TESTS, null_sweeps
from interp.simulation.populations import Design, Population, gaussian, real_populations
from interp.simulation.rates import Rate, covers, is_kept, mean_share, share

ONE_WAY = (Design(16), Design(32))
CROSSED = (Design(16, 8),)
COLUMNS = ["quantity", "design", "procedure", "null", "nominal", "measured", "low", "high"]
COLUMNS += ["claimed", "holds"]
Row = dict[str, Any]


def statistics(*, seed: int, n_sweeps: int, progress: Progress = silent) -> pd.DataFrame:
    """Simulate sweeps of 270 heads whose truth is known, and hold every procedure against it.

    One row a quantity, design, procedure and null: `nominal` (what is aimed at), `measured` with
    its 95 % interval `low` to `high`, whether it `holds`, and whether that is `claimed`. Of sign
    flips nothing is claimed where effects are skewed, and of max-T no power at the number of pairs
    that a paired t needs; these rows say what there is instead.

    - coverage of 95 % intervals, over heads: holds between 93 and 97 %;
    - family-wise error, false matters (significant, and 5 % of the gap), false idle: hold where
      their interval reaches down to 5 % and is not above 7 %;
    - power: holds within 5 points of the 80 % for which `power.N_PAIRS` is the table.
    """
    rows: list[Row] = []
    for population, design in _nulls():
        label = f"{population.name}, {design}"
        with progress(label, 2 * n_sweeps) as advance:
            found = null_sweeps(population, design, n_sweeps=n_sweeps, seed=seed, advance=advance)
            idle = called_idle(population, design, n_sweeps=n_sweeps, seed=seed, advance=advance)
        row = _rows_of(str(design), population.name)
        rows += [
            row("coverage", "interval of a mean", 0.95, mean_share(found.mean_covered), covers),
            row("coverage", "interval of a share", 0.95, mean_share(found.ratio_covered), covers),
            row("false idle", "equivalence in every cell", 0.05, mean_share(idle), is_kept),
        ]
        for name in TESTS:
            is_claimed = name != SYMMETRIC or population.draw is gaussian
            for quantity, happened in (
                ("family-wise error", found.rejected[name]),
                ("false matters", found.matters[name]),
            ):
                error = row(quantity, name, 0.05, share(happened), is_kept)
                rows.append(error | {"claimed": is_claimed})
    rows += _power_rows(seed, n_sweeps, progress)
    return pd.DataFrame(rows)[COLUMNS]


def _nulls() -> Iterator[tuple[Population, Design]]:
    for population in real_populations():
        for design in ONE_WAY if population.other is None else CROSSED:
            yield population, design
            yield population.as_gaussian(), design


def _rows_of(design: str, null: str) -> Callable[..., Row]:
    def row(
        quantity: str, procedure: str, nominal: float, rate: Rate, holds: Callable[[Rate], bool]
    ) -> Row:
        return {
            "quantity": quantity,
            "design": design,
            "procedure": procedure,
            "null": null,
            "nominal": nominal,
            **rate._asdict(),
            "claimed": True,
            "holds": holds(rate),
        }

    return row


def _power_rows(seed: int, n_sweeps: int, progress: Progress) -> list[Row]:
    rows: list[Row] = []
    n_max_t = max(2, n_sweeps // 20)  # ten heads with an effect in each
    with progress("power", len(power.N_PAIRS) * len(TESTS) * n_max_t) as advance:
        for d_z, by_heads in power.N_PAIRS.items():
            null = f"d_z {d_z}, independent Gaussian pairs"
            for n_heads, n_pairs in by_heads.items():
                row = _rows_of(f"{n_heads} heads, {n_pairs} pairs", null)
                found = power.of_paired_t(d_z, n_pairs, n_heads, n_sweeps=4 * n_sweeps, seed=seed)
                rows.append(
                    row("power", "paired t, Bonferroni", 0.8, share(found), power.is_as_tabled)
                )
            for name, test in TESTS.items():
                shares = power.of_max_t(
                    test, d_z, n_pairs, n_heads, n_sweeps=n_max_t, seed=seed, advance=advance
                )
                beside = row("power", name, 0.8, mean_share(shares), power.is_as_tabled)
                rows.append(beside | {"claimed": False})
    return rows
