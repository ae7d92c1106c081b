"""What does our attention cost, and reading it, beside the model's own?

Medians of alternating forwards in one process. Run: `python -m analyses.attention_cost`.
"""

import statistics
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor

from interp.models import load
from interp.models.loading import pretrained

MODEL = "smollm2-135m"
N_ITEMS, N_TOKENS, N_RUNS = 32, 64, 20


def main() -> None:
    """Time the model with its own attention, with ours, and with all six points read."""
    plain = load(MODEL).plain
    own = pretrained(MODEL)
    own.set_attn_implementation("eager")
    ids = torch.randint(
        1000, 40000, (N_ITEMS, N_TOKENS), generator=torch.Generator().manual_seed(0)
    )

    def read(layer: int, name: str, tensor: Tensor) -> Tensor:
        tensor.sum()
        return tensor

    contenders: dict[str, tuple[Callable[..., Any], Callable[[], AbstractContextManager[None]]]] = {
        "the model's own, eager": (own, nullcontext),
        "ours": (plain.module, nullcontext),
        "ours, six points read": (plain.module, lambda: plain.hooked(read)),
    }
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    with torch.inference_mode():
        for run in range(N_RUNS + 1):
            for name, (forward, context) in contenders.items():
                start = time.perf_counter()
                with context():
                    forward(input_ids=ids, use_cache=False)
                if run > 0:  # the first is a warm-up
                    seconds[name].append(time.perf_counter() - start)
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    base = medians["the model's own, eager"]
    print(f"{MODEL}, {N_ITEMS} × {N_TOKENS} tokens, median of {N_RUNS} alternating runs")
    for name, median in medians.items():
        print(f"{name}: {median:.3f} s, {median / base:.2f} ×")


if __name__ == "__main__":
    main()
