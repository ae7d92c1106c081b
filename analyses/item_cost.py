"""How long does it take to make the items of a family? Every family of short prompts, one by one.

512 pairs of each family, built and checked, with the tokenizers of both bundled models. Run on a
quiet machine: `OMP_NUM_THREADS=1 python -m analyses.item_cost`.
"""

import time
from collections.abc import Iterator
from typing import Any

import pandas as pd

from interp import load
from interp.items import Item
from interp.tasks import build, families
from interp.tokens import text_ids

MODELS = ("smollm2-135m", "minilm-l6")
N_PAIRS = 512
N_TRIED = 4
SEED = 0
LONGEST = 32
"""Tokens of the longest prompt that counts as short."""

MOST_SECONDS = 10.0
"""More than this for one family is too slow."""


def main() -> None:
    """Print a row a family, and how many are too slow."""
    table = pd.concat([costs(name, load(name).tokenizer) for name in MODELS], ignore_index=True)
    wide = table.pivot(index="family", columns="model", values="seconds")
    print(wide.to_string(float_format=lambda seconds: f"{seconds:.2f}", na_rep="longer"))
    slow = table[table["seconds"] > MOST_SECONDS]
    worst = table.loc[table["seconds"].idxmax()]
    print(
        f"{N_PAIRS} pairs: {len(slow)} of {len(table)} take more than {MOST_SECONDS:.0f} s; the "
        f"longest is {worst['family']} for {worst['model']}, {worst['seconds']:.2f} s"
    )


def costs(model: str, tokenizer: Any) -> pd.DataFrame:
    """The rows of one tokenizer: `family, model, seconds`, the wall time of `N_PAIRS` pairs."""
    rows = []
    for name in short_families(tokenizer):
        start = time.perf_counter()
        _items(name, tokenizer, N_PAIRS)
        rows.append({"family": name, "model": model, "seconds": time.perf_counter() - start})
    return pd.DataFrame(rows)


def short_families(tokenizer: Any) -> Iterator[str]:
    """The families whose first prompts have no more than `LONGEST` tokens."""
    for family in families():
        distances = [int(part) for part in family.name.split("/") if part.isdigit()]
        if family.name.endswith("fixed_query") or max(distances, default=0) >= LONGEST:
            continue
        tried = _items(family.name, tokenizer, N_TRIED)
        if max(len(text_ids(item.clean_text, tokenizer)) for item in tried) <= LONGEST:
            yield family.name


def _items(name: str, tokenizer: Any, n_pairs: int) -> list[Item]:
    return build(name, tokenizer, n_pairs=n_pairs, seed=SEED)


if __name__ == "__main__":
    main()
