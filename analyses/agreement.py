"""Which heads of a model find the subject, and which of them carry its number to the verb?

Prompts such as "The farmer beside the senators" and "The farmer knew the senators" differ in one
word, and with it in the noun that the next verb agrees with. Run: `python -m analyses.agreement`.
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
        ["agreement"], model_name=MODEL, preset=PRESET, folder=FOLDER, progress=on_stderr
    )["agreement"]
    print("\n".join(answer(run)))

    # A head that follows the subject should do so in every wording.
    by_template = run.tables["by_template"]
    top = run.tables["verdicts"].nlargest(5, "effect_edge")["label"]
    share = by_template[by_template["label"].isin(top)]
    print("\nEffect on the edge of the five strongest heads, wording by wording:")
    print(share.pivot(index="label", columns="template_id", values="effect_edge").loc[top].round(2))
    print(f"\nPage: {FOLDER / 'agreement' / 'report.html'}")


if __name__ == "__main__":
    main()
