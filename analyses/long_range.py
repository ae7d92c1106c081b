"""Do the induction heads of the task-free battery carry the model's recall of earlier pairs?

`repeat` asks for the word that followed in a repeated block, `recall` for the value of a key; the
flip asks for another. Run: `python -m analyses.long_range`.
"""

from pathlib import Path

from interp.progress import on_stderr
from interp.report.words import answer
from interp.suite import run_suite

MODEL = "smollm2-135m"
PRESET = "quick"
FOLDER = Path("reports") / MODEL


def main() -> None:
    """Run the task, or read it where it has been run, and print what was found."""
    run = run_suite(
        ["long_range"], model_name=MODEL, preset=PRESET, folder=FOLDER, progress=on_stderr
    )["long_range"]
    print("\n".join(answer(run)))

    # The best induction heads on random repeats, and what each template loses without them.
    battery, by_template = run.tables["battery"], run.tables["by_template"]
    best = battery.nlargest(8, "induction").set_index("label")
    effects = by_template.pivot(index="label", columns="template_id", values="effect_query")
    print("\nInduction score, and effect at the query in each template:")
    print(best[["induction"]].join(effects).round(2).to_string())
    print(f"\nPage: {FOLDER / 'long_range' / 'report.html'}")


if __name__ == "__main__":
    main()
