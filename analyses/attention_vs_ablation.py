"""Over three phenomena: how far does attention foretell what removing a head does?

Run: `python -m analyses.attention_vs_ablation`.
"""

from pathlib import Path

import pandas as pd

from interp.contrast import mattering
from interp.progress import on_stderr
from interp.suite import run_suite

MODEL = "smollm2-135m"
PRESET = "quick"
TASKS = ("agreement", "coreference", "long_range")
FOLDER = Path("reports") / MODEL


def main() -> None:
    """Run the tasks, or read them where they have been run, and print what was found."""
    runs = run_suite(TASKS, model_name=MODEL, preset=PRESET, folder=FOLDER, progress=on_stderr)
    ranked = {task: run for task, run in runs.items() if "verdicts" in run.tables}

    counts = pd.DataFrame(
        {task: run.tables["verdicts"]["verdict"].value_counts() for task, run in ranked.items()}
    )
    print("Heads by verdict:")
    print(counts.fillna(0).astype(int).to_string())

    leagues = pd.concat([run.tables["league"].assign(task=task) for task, run in ranked.items()])
    print("\nRank agreement over heads of each measure with |effect|, tier by tier:")
    table = leagues.pivot(index=["measure", "tier"], columns="task", values="spearman")
    print(table.round(2).to_string())

    # A head that serves several phenomena is a general one until shown otherwise.
    matter = [set(mattering(run.tables["verdicts"])["label"]) for run in ranked.values()]
    shared = sorted(set.intersection(*matter)) if matter else []
    print(f"\nHeads that matter in all of them: {', '.join(shared) or 'none'}")
    print(f"Page: {FOLDER / 'report.html'}")


if __name__ == "__main__":
    main()
