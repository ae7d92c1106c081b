"""Write `data/real_effects.npz` again: effects of every head of SmolLM2, for simulated nulls.

`interp.simulation` draws sweeps without any true effect from them. Each set is written when
it is done. Run: `python -m analyses.real_effects`.
"""

from pathlib import Path

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from interp import build, load, sweep
from interp.items import Item
from interp.progress import on_stderr

MODEL = "smollm2-135m"
FILE = Path(__file__).parents[1] / "data" / "real_effects.npz"
TASKS = ("coreference", "agreement")
N_PAIRS = 128


def main() -> None:
    """Sweep each set at the query and write its effects, its gap, and the clusters of both ways."""
    model = load(MODEL)
    arrays: dict[str, np.ndarray] = {}
    for task in TASKS:
        items = build(task, model.tokenizer, n_pairs=N_PAIRS, seed=0)
        table = sweep(model, model.encode(items), scopes=["query"], progress=on_stderr)
        found = {"effects": effects(table, items), "gap": gap(table, items)}
        found["clusters"] = clusters(items)
        arrays |= {f"{task}.{name}": array for name, array in found.items()}
        np.savez_compressed(FILE, allow_pickle=False, **arrays)
        print(f"{task}: {FILE.stat().st_size:,} bytes", flush=True)


def effects(table: pd.DataFrame, items: list[Item]) -> Float[np.ndarray, "pair head"]:
    """The effect of each head, in logits, mean over the two directions of each pair."""
    grid = table.assign(effect=table["intact"] - table["edited"]).pivot(
        index="item_id", columns=["layer", "head"], values="effect"
    )
    of_items = grid.loc[[item.item_id for item in items]].sort_index(axis=1).to_numpy()
    both: Float[np.ndarray, "pair head"] = of_items.reshape(len(items) // 2, 2, -1).mean(axis=1)
    return both.astype(np.float32)


def gap(table: pd.DataFrame, items: list[Item]) -> Float[np.ndarray, " pair"]:
    """The metric of the intact run less that of the counterfactual one, likewise."""
    one = table[(table["layer"] == 0) & (table["head"] == 0)].set_index("item_id")
    of_items = (one["intact"] - one["corrupt"]).loc[[item.item_id for item in items]].to_numpy()
    both: Float[np.ndarray, " pair"] = of_items.reshape(-1, 2).mean(axis=1)
    return both.astype(np.float32)


def clusters(items: list[Item]) -> Int[np.ndarray, "way pair"]:
    """The lexeme that a pair has in each slot, as a number."""
    ways = zip(*(item.clusters for item in items[::2]), strict=True)
    return np.array([np.unique(labels, return_inverse=True)[1] for labels in ways], dtype=np.int16)


if __name__ == "__main__":
    main()
