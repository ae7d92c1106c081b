"""Times of both sides, interleaved, as a table."""

import statistics
import threading
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from interp.bench.clock import timed
from interp.bench.counts import count
from interp.bench.scenarios import SCENARIOS, Scenario
from interp.effects.baselines import Baseline
from interp.effects.check import ablated_logits
from interp.effects.engine import sweep
from interp.effects.pieces import limits
from interp.effects.plain_loop import Looped
from interp.encode import Batch
from interp.heads import Head
from interp.models import load
from interp.models.helper import patched
from interp.models.model import Model
from interp.progress import Progress, silent

PRODUCT = (2048, 576, 1536)


def bench(
    scenarios: Sequence[Scenario] = SCENARIOS, *, n_rounds: int = 1, progress: Progress = silent
) -> pd.DataFrame:
    """One row a scenario: our sweep of all heads, and the plain loop's time scaled to all.

    Both sides run in one process, in turn, after a first run of each that is not counted.

    Columns: `scenario`, `heads`, `items`, `tokens` of a prompt, `nodes` (distinct prefixes), `rows`
    run again for each head; `ours_s` and `plain_s` in seconds, medians over rounds; `ratio`, the
    `wanted` one, and the `ceiling` that counts of multiplications allow; `helper_s`, of
    TransformerLens's own patching helper on the same sweep; `difference`, the largest between the
    two sides' logits, as a share of the largest logit; `gflops` of our sweep, and `product_gflops`
    of a plain matrix product of a layer's shape just after it; `memory_mb`, what the process grew
    by during our sweep, and `budget_mb`; `threads`.
    """
    rows = []
    for scenario in scenarios:
        with progress(scenario.name, 1) as advance:
            rows.append(_row(scenario, load(scenario.model), n_rounds))
            advance(1)
    return pd.DataFrame(rows)


def _row(scenario: Scenario, model: Model, n_rounds: int) -> dict[str, object]:
    batch = scenario.batch(model.config.vocab_size)
    baseline = scenario.baseline(model)
    heads = _sample(model, scenario.n_sampled)
    within = limits(model.plain, None)
    loop = Looped(model, batch, scenario.scope, baseline, [head.layer for head in heads])

    def ours() -> None:
        sweep(
            model, [batch], scopes=[scenario.scope], baseline=baseline, metric=scenario.metric,
            memory=within.memory,
        )  # fmt: skip

    def plain() -> None:
        for head in heads:
            logits = loop.logits([head])
            scenario.metric(logits, batch.answer, batch.foil, logits)

    difference = _difference(  # also the first run of each side, which is not counted
        model, batch, heads, scenario, baseline, loop
    )
    seconds: dict[str, list[float]] = {"ours": [], "plain": [], "helper": []}
    with _Memory() as memory:
        for _ in range(n_rounds):
            seconds["plain"].append(timed(plain)[0])
            memory.watches = True
            seconds["ours"].append(timed(ours)[0])
            memory.watches = False
            seconds["plain"].append(timed(plain)[0])
            if scenario.with_helper:
                seconds["helper"].append(timed(lambda: _helper(loop, heads))[0])
    counts = count(model, batch, scenario.scope, baseline, within)
    scaled = len(model.heads) / len(heads)
    ours_s, plain_s = statistics.median(seconds["ours"]), statistics.median(seconds["plain"])
    helper = statistics.median(seconds["helper"]) * scaled if scenario.with_helper else None
    return {
        "scenario": scenario.name,
        "heads": len(model.heads),
        "items": len(batch),
        "tokens": batch.ids.shape[1],
        "nodes": counts.n_nodes,
        "rows": counts.n_rows,
        "ours_s": ours_s,
        "plain_s": plain_s * scaled,
        "ratio": plain_s * scaled / ours_s,
        "wanted": scenario.wanted,
        "ceiling": counts.ceiling,
        "helper_s": helper,
        "difference": difference,
        "gflops": 2e-9 * counts.ours / ours_s,
        "product_gflops": _product(),
        "memory_mb": memory.grown / 1e6,
        "budget_mb": within.memory / 1e6,
        "threads": torch.get_num_threads(),
    }


def _sample(model: Model, n_heads: int) -> list[Head]:
    """Heads evenly over the layers."""
    step = len(model.heads) / n_heads
    return [model.heads[int(step * (number + 0.5))] for number in range(n_heads)]


def _difference(
    model: Model,
    batch: Batch,
    heads: Sequence[Head],
    scenario: Scenario,
    baseline: Baseline,
    loop: Looped,
) -> float:
    """The largest between the two sides, over all items and the sampled heads, relative."""
    apart = largest = 0.0
    ours = ablated_logits(model, batch, heads, scenario.scope, baseline)
    for head, found in zip(heads, ours, strict=True):
        expected = loop.logits([head])
        apart = max(apart, (found - expected).abs().max().item())
        largest = max(largest, expected.abs().max().item())
    return apart / largest


def _helper(loop: Looped, heads: Sequence[Head]) -> None:
    batch = loop.batch

    def metric(logits: Float[Tensor, "item pos vocab"]) -> Tensor:
        at_query = logits[torch.arange(len(batch)), batch.query]
        return (
            at_query.gather(1, batch.answer[:, None]) - at_query.gather(1, batch.foil[:, None])
        ).mean()

    patched(loop.model.bridge, batch.ids, loop.giving, heads, metric)


def _product() -> float:
    """Billions of operations a second of a plain matrix product, the best of some."""
    n, k, m = PRODUCT
    one, other = torch.randn(n, k), torch.randn(k, m)
    seconds = [timed(lambda: one @ other)[0] for _ in range(30)]
    return 2e-9 * n * k * m / statistics.median(seconds)


class _Memory:
    """How much the process grows while it is watched, looked at twenty times a second."""

    def __init__(self) -> None:
        self.watches, self.grown = False, 0
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "_Memory":
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ends.set()
        self._thread.join()

    def _watch(self) -> None:
        before: int | None = None
        while not self._ends.wait(0.05):
            if not self.watches:
                before = None
                continue
            now = _resident()
            before = now if before is None else before
            self.grown = max(self.grown, now - before)


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096
