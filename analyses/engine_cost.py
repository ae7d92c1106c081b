"""How does the cost of a sweep of all heads grow with items, tokens, heads and depth?

Each factor is doubled alone, on a small random llama. Run: `python -m analyses.engine_cost`; it
writes `reports/engine_cost.csv` and `.md`.
"""

import statistics
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from interp.bench.counts import count
from interp.bench.scenarios import batch_of, unlike
from interp.effects import Resample, Scope, sweep
from interp.effects.pieces import limits
from interp.models.shapes import Shape, random_llama

SHAPE = Shape(n_layers=4, n_heads=4, n_kv_heads=4, width=128, mlp=512, n_vocabulary=512)
N_ITEMS, N_TOKENS, N_DOUBLINGS, N_RUNS = 32, 32, 3, 3
SCOPES = (Scope.EVERYWHERE, Scope.QUERY)
REPORTS = Path(__file__).parents[1] / "reports"
CAPTION = """# What a sweep costs, and how that grows

A sweep of all heads, resampled from the pair, on a random llama; one factor is doubled at a time.
The prompts of a pair differ from halfway on, and pairs share nothing. *Rows* are those that each
head runs again, *layer rows* all that go through a layer, the intact run included, *seconds*
medians of {n_runs} runs on {threads} threads. *Growth* is the power of the factor with which
seconds, and layer rows, grew since the row above: 1 is in proportion, 2 quadratic. The width stays
as it is when there are more heads. More layers are more heads too, each carried through more
layers. The machine is shared: a row's seconds may be a third off, its rows are exact. From
`python -m analyses.engine_cost`.

"""


def measured(
    shape: Shape, n_items: int, n_tokens: int, scope: Scope, n_runs: int
) -> dict[str, float]:
    """Counts and seconds of one sweep."""
    model = random_llama(shape, seed=0)
    batch = batch_of(unlike(n_items // 2, n_tokens)(shape.n_vocabulary, 0))
    counts = count(model, batch, scope, Resample(), limits(model.plain, None))
    seconds = []
    for _ in range(n_runs + 1):  # the first is a warm-up
        start = time.perf_counter()
        sweep(model, [batch], scopes=[scope])
        seconds.append(time.perf_counter() - start)
    layers_run = sum(model.n_layers - head.layer for head in model.heads)
    return {
        "heads": len(model.heads),
        "rows": counts.n_rows,
        "layer_rows": counts.n_nodes * model.n_layers + counts.n_rows * layers_run,
        "seconds": statistics.median(seconds[1:]),
    }


def growth(
    shape: Shape, n_items: int, n_tokens: int, *, n_doublings: int, n_runs: int
) -> pd.DataFrame:
    """One row a scope, factor and value of it; see the caption for the columns."""
    start = {"items": n_items, "tokens": n_tokens, "heads": shape.n_heads, "layers": shape.n_layers}
    rows = []
    for scope in SCOPES:
        for factor, first in start.items():
            for value in (first * 2**number for number in range(n_doublings + 1)):
                sizes = {**start, factor: value}
                grown = replace(
                    shape, n_layers=sizes["layers"], n_heads=sizes["heads"],
                    n_kv_heads=shape.n_kv_heads * sizes["heads"] // shape.n_heads,
                )  # fmt: skip
                found = measured(grown, sizes["items"], sizes["tokens"], scope, n_runs)
                rows.append({"scope": str(scope), "factor": factor, "value": value, **found})
    table = pd.DataFrame(rows)
    by_factor = table.groupby(["scope", "factor"])
    for column in ("layer_rows", "seconds"):
        table[f"{column}_growth"] = np.log2(
            by_factor[column].transform(lambda each: each / each.shift())
        )
    return table


def as_markdown(table: pd.DataFrame) -> str:
    """The table as a page has it."""
    names = [name.replace("_", " ") for name in table.columns]
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    for row in table.itertuples(index=False):
        cells = [f"{cell:.3g}" if isinstance(cell, float) else str(cell) for cell in row]
        lines.append("| " + " | ".join("" if cell == "nan" else cell for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, and write the table and its page."""
    table = growth(SHAPE, N_ITEMS, N_TOKENS, n_doublings=N_DOUBLINGS, n_runs=N_RUNS)
    table.to_csv(REPORTS / "engine_cost.csv", index=False)
    page = CAPTION.format(n_runs=N_RUNS, threads=torch.get_num_threads()) + as_markdown(table)
    (REPORTS / "engine_cost.md").write_text(page, encoding="utf-8")
    print(page)


if __name__ == "__main__":
    main()
