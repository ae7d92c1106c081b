"""Write the frozen sets of `data/frozen` again: `python -m analyses.frozen_sets`."""

from pathlib import Path

from interp import load
from interp.tasks.frozen import write_frozen

MODEL = "smollm2-135m"
FOLDER = Path(__file__).parents[1] / "data" / "frozen"

if __name__ == "__main__":
    write_frozen(FOLDER, load(MODEL).tokenizer)
    print(f"{len(list(FOLDER.iterdir()))} files in {FOLDER}")
