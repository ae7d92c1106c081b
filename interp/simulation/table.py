"""All simulations as one table: what is claimed, what was measured, and whether it holds."""

from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd

from interp.progress import Progress, silent
from interp.simulation import power
from interp.simulation.idle import called_idle
from interp.simulation.nulls import max_t_briefly, null_sweeps
from interp.simulation.populations import Design, Population, gaussian, real_populations
from interp.simulation.rates import Rate, covers, is_kept, mean_share, share
from interp.simulation.verdicts import ANY_CLAIM, false_verdicts

ONE_WAY = (Design(16), Design(32))
CROSSED = (Design(16, 8),)
COLUMNS = ["quantity", "design", "procedure", "null", "nominal", "measured", "low", "high"]
COLUMNS += ["claimed", "holds"]
Row = dict[str, Any]


def statistics(*, seed: int, n_sweeps: int, progress: Progress = silent) -> pd.DataFrame:
    """Simulate sweeps of 270 heads whose truth is known, and hold every procedure against it.

    One row a quantity, design, procedure and null: `nominal` (what is aimed at), `measured` with
    its 95 % interval `low` to `high`, whether it `holds`, and whether that is `claimed`. Of max-T
    no power is claimed at the number of pairs that a paired t needs; these rows say what there is.

    - coverage of 95 % intervals, over heads: holds between 93 and 97 %;
    - family-wise error, false matters (significant, and 5 % of the gap), false idle and every false
      verdict of the whole of the rules: hold where their interval reaches down to 5 % and is not
      above 7 %;
    - power: holds within 5 points of the 80 % for which `power.N_PAIRS` is the table.
    """
    rows: list[Row] = []
    n_judged = max(2, n_sweeps // 2)  # all rules take longer than one test
    for population, design in _nulls():
        is_real = population.draw is not gaussian
        n_rules = n_judged if is_real else 0
        label = f"{population.name}, {design}"
        with progress(label, 2 * n_sweeps + n_rules) as advance:
            found = null_sweeps(population, design, n_sweeps=n_sweeps, seed=seed, advance=advance)
            idle = called_idle(population, design, n_sweeps=n_sweeps, seed=seed, advance=advance)
            judged = false_verdicts(
                population, design, n_sweeps=n_rules, seed=seed, advance=advance
            )
        row = _rows_of(str(design), population.name)
        rows += [
            row("coverage", "interval of a mean", 0.95, mean_share(found.mean_covered), covers),
            row("coverage", "interval of a share", 0.95, mean_share(found.ratio_covered), covers),
            row("false idle", "equivalence in every cell", 0.05, mean_share(idle), is_kept),
            row("family-wise error", "max-T", 0.05, share(found.rejected), is_kept),
            row("false matters", "max-T", 0.05, share(found.matters), is_kept),
        ]
        for kind, errors in judged.items():
            rate = share(errors > 0) if kind == ANY_CLAIM else mean_share(errors)
            rows.append(row("false verdict", kind, 0.05, rate, is_kept))
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
    with progress("power", len(power.N_PAIRS) * n_max_t) as advance:
        for d_z, by_heads in power.N_PAIRS.items():
            null = f"d_z {d_z}, independent Gaussian pairs"
            for n_heads, n_pairs in by_heads.items():
                row = _rows_of(f"{n_heads} heads, {n_pairs} pairs", null)
                found = power.of_paired_t(d_z, n_pairs, n_heads, n_sweeps=4 * n_sweeps, seed=seed)
                rows.append(
                    row("power", "paired t, Bonferroni", 0.8, share(found), power.is_as_tabled)
                )
            shares = power.of_max_t(
                max_t_briefly, d_z, n_pairs, n_heads, n_sweeps=n_max_t, seed=seed, advance=advance
            )
            beside = row("power", "max-T", 0.8, mean_share(shares), power.is_as_tabled)
            rows.append(beside | {"claimed": False})
    return rows
