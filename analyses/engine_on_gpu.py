"""How fast is a sweep on a GPU, beside the plain loop? A random model of Llama-3.2-1B's shape.

Every head at every item, both ways, in fp32. Run: `python -m analyses.engine_on_gpu`; it needs a
GPU with 16 GB, prints one row, and writes it to `reports/engine_on_gpu.csv`.
"""

import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
import torch

from interp.bench.counts import count
from interp.bench.scenarios import batch_of, unlike
from interp.effects import LOGIT_DIFFERENCE, Resample, Scope, sweep
from interp.effects.check import check_against_loop
from interp.effects.device_check import check_against_cpu
from interp.effects.pieces import limits
from interp.effects.plain_loop import Looped
from interp.encode import Batch
from interp.models.model import Model
from interp.models.shapes import Shape, random_llama, word_an_id

SHAPE = Shape(n_layers=16, n_heads=32, n_kv_heads=8, width=2048, mlp=8192, n_vocabulary=8192)
N_PAIRS, N_TOKENS, SCOPES = 128, 16, (Scope.EVERYWHERE, Scope.QUERY)
TABLE = Path(__file__).parents[1] / "reports" / "engine_on_gpu.csv"


def compared(
    shape: Shape, *, n_pairs: int, n_tokens: int, scopes: tuple[Scope, ...], device: str
) -> pd.DataFrame:
    """One row a scope: seconds of both, their ratio and its ceiling, and how far they are apart.

    `apart` is the largest difference between the two in an edited logit difference, as a share of
    the largest of these; `logits_apart` that in logits on three heads and two items.
    """
    with TemporaryDirectory() as folder:
        tokenizer = word_an_id(shape.n_vocabulary, folder)
        model = random_llama(shape, seed=0, device=device, tokenizer=tokenizer)
        batch = batch_of(unlike(n_pairs, n_tokens)(shape.n_vocabulary, 0))
        check_against_cpu(model, batch)
        return pd.DataFrame([_row(model, batch, scope) for scope in scopes])


def _row(model: Model, batch: Batch, scope: Scope) -> dict[str, object]:
    check = check_against_loop(model, batch, scopes=[scope])  # also a first run of each side
    counts = count(model, batch, scope, Resample(), limits(model.plain, None))
    start = time.perf_counter()
    ours = sweep(model, [batch], scopes=[scope])
    ours_s = time.perf_counter() - start
    start = time.perf_counter()
    loop = Looped(model, batch, scope, Resample(), range(model.n_layers))
    edited = []
    for head in model.heads:
        logits = loop.logits([head])
        edited.append(LOGIT_DIFFERENCE(logits, batch.answer, batch.foil, logits))
    loop_s = time.perf_counter() - start
    expected = torch.cat(edited)
    found = torch.from_numpy(ours["edited"].to_numpy(copy=True)).to(expected)
    return {
        "model": model.name,
        "scope": str(scope),
        "heads": len(model.heads),
        "items": len(batch),
        "tokens": batch.ids.shape[1],
        "rows": counts.n_rows,
        "ours_s": ours_s,
        "loop_s": loop_s,
        "ratio": loop_s / ours_s,
        "ceiling": counts.ceiling,
        "apart": float((found - expected).abs().max() / expected.abs().max()),
        "logits_apart": check.largest_difference / check.largest_logit,
    }


def main() -> None:
    """Measure on the GPU, if there is one."""
    if not torch.cuda.is_available():
        print("no GPU here: nothing was measured.", file=sys.stderr)
        raise SystemExit(2)
    table = compared(
        SHAPE, n_pairs=N_PAIRS, n_tokens=N_TOKENS, scopes=SCOPES, device="cuda"
    ).assign(device=torch.cuda.get_device_name())
    table.to_csv(TABLE, index=False)
    print(table.to_string(index=False))


if __name__ == "__main__":
    main()
