"""Which heads go from a pronoun's slot back to the name that it stands for?

One token, a pronoun or a verb, moves the antecedent from one name to the other; both names stay.
Run: `python -m analyses.coreference`.
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
        ["coreference"], model_name=MODEL, preset=PRESET, folder=FOLDER, progress=on_stderr
    )["coreference"]
    print("\n".join(answer(run)))

    # Which slot the model prefers is not the question; whether the flip moves it is.
    behaviour = run.tables["behaviour"]
    print("\nContrast in logits, and plain accuracy, wording by wording:")
    print(behaviour[["template_id", "contrast", "share_flipped", "accuracy"]].round(2).to_string())
    print(f"\nPage: {FOLDER / 'coreference' / 'report.html'}")


if __name__ == "__main__":
    main()
