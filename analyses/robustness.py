"""Do the same heads lead behind another prefix, or with other rounding of the weights?

The items of each task stay the same; the model is asked behind each prefix, and with weights moved
within the step to which they were rounded. Run: `python -m analyses.robustness`; it writes
`reports/robustness`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from jaxtyping import Float
from scipy import stats

from interp import load
from interp.effects import Scope, sweep
from interp.heads import Head
from interp.items import Item
from interp.measures.relations import CAS
from interp.models import Model
from interp.models.dither import dithered
from interp.models.prefix import POLICIES, resolve_prefix
from interp.models.record import record
from interp.progress import Progress, on_stderr
from interp.tasks import NAMES, build

MODEL, N_PAIRS, SEED = "smollm2-135m", 32, 0
N_DITHERS = 3
TOP = 10
FOLDER = Path("reports") / "robustness"
CAPTION = f"""# The same heads under other conditions

{MODEL}, {N_PAIRS} pairs a task, the same items in every row. Each condition is compared with the
first one, texts behind the separator of documents and weights as they are. *Dithered*: every weight
that was rounded to 4 bits moved by a uniform draw of up to half a step. *Other items*: {N_PAIRS}
other pairs (the next seed), for comparison: what changes without any other condition.
*Gap* is the mean contrast in logits; *Jaccard* of the {TOP} heads with the largest effect at the
query and of the {TOP} most selective (CAS), 1 for the same heads; *Spearman* of the sizes of the
effects of all heads. Effects are shares of the gap. From `python -m analyses.robustness`.

"""


@dataclass(frozen=True)
class Found:
    """What one condition shows: the gap in logits, and of every head effect and selectivity."""

    gap: float
    effects: Float[np.ndarray, " head"]
    selectivity: Float[np.ndarray, " head"]


def conditions(model: Model, task: str) -> Iterator[tuple[str, Model, list[Item]]]:
    """Each condition by name, the one that all are compared with first."""
    items = build(task, model.tokenizer, n_pairs=N_PAIRS, seed=SEED)
    others = build(task, model.tokenizer, n_pairs=N_PAIRS, seed=SEED + 1)
    for policy in POLICIES:
        prefix = resolve_prefix(policy, model.tokenizer, is_causal=model.is_causal)
        yield f"prefix {policy}", replace(model, prefix=prefix), items
    yield "other items", model, others
    for seed in range(N_DITHERS):
        yield f"dithered {seed}", dithered(model, seed=seed), items


def measured(
    model: Model, items: Sequence[Item], progress: Progress, heads: Sequence[Head] | None = None
) -> Found:
    """Every head's mean effect at the query and CAS, or those of some."""
    batches = model.encode(items)
    table = sweep(model, batches, scopes=[Scope.QUERY], heads=heads, progress=progress)
    gap = float((table["intact"] - table["corrupt"]).mean())
    effects = (table["intact"] - table["edited"]).groupby([table["layer"], table["head"]]).mean()
    scores = [CAS.of(record(model.plain, batch, keep=("pattern",))) for batch in batches]
    cas = np.concatenate([each.double().numpy() for each in scores]).mean(axis=0)
    kept = model.heads if heads is None else sorted(heads)
    return Found(
        gap=gap,
        effects=effects.to_numpy(float) / gap,
        selectivity=np.array([cas[head.layer, head.head] for head in kept]),
    )


def compared(first: Found, other: Found, labels: Sequence[str]) -> dict[str, object]:
    """One row of the table."""
    size, other_size = np.abs(first.effects), np.abs(other.effects)
    largest, selective = int(other_size.argmax()), int(other.selectivity.argmax())
    return {
        "gap": other.gap,
        "jaccard_effect": jaccard(size, other_size),
        "jaccard_cas": jaccard(first.selectivity, other.selectivity),
        "spearman_effect": float(stats.spearmanr(size, other_size).statistic),
        "largest_effect": f"{labels[largest]} {other.effects[largest]:.2f}",
        "most_selective": f"{labels[selective]} {other.selectivity[selective]:.2f}",
    }


def jaccard(one: Float[np.ndarray, " head"], other: Float[np.ndarray, " head"]) -> float:
    """Of the leading heads of two rankings: how many they share of all that either has."""
    leading = [set(np.argsort(-each, kind="stable")[:TOP].tolist()) for each in (one, other)]
    return len(leading[0] & leading[1]) / len(leading[0] | leading[1])


def robustness(model: Model, tasks: Sequence[str], progress: Progress) -> pd.DataFrame:
    """One row a task and condition."""
    labels = [head.label for head in model.heads]
    rows = []
    for task in tasks:
        first: Found | None = None
        for name, changed, items in conditions(model, task):
            found = measured(changed, items, progress)
            first = first or found
            rows.append({"task": task, "condition": name, **compared(first, found, labels)})
    return pd.DataFrame(rows)


def as_markdown(table: pd.DataFrame) -> str:
    """The table as a page has it."""
    lines = ["| " + " | ".join(name.replace("_", " ") for name in table.columns) + " |"]
    lines.append("|" + "---|" * len(table.columns))
    for row in table.itertuples(index=False):
        cells = [f"{cell:.2f}" if isinstance(cell, float) else str(cell) for cell in row]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure every condition, and write the table and its page."""
    table = robustness(load(MODEL), NAMES, on_stderr)
    FOLDER.mkdir(parents=True, exist_ok=True)
    table.round(4).to_csv(FOLDER / "robustness.csv", index=False, lineterminator="\n")
    (FOLDER / "README.md").write_text(CAPTION + as_markdown(table), encoding="utf-8")
    print(as_markdown(table))


if __name__ == "__main__":
    main()
