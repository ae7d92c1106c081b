"""Where does a model show the behaviours, and how far? Every family, at every distance.

Head claims are possible only where the behaviour passes its gate. Run:
`python -m analyses.behaviour`; it goes on where it was left, and an item set that has its rows is
not run again.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from interp.behaviour import answer_table, behaviour, cells
from interp.effects import LOGIT_DIFFERENCE
from interp.items import Item, items_hash
from interp.models import Model, load
from interp.progress import say
from interp.report.attractors import attraction, by_attractor
from interp.report.behaviour_words import behaviour_words
from interp.report.canvas import encoded
from interp.report.distances import contrast_curves, contrast_map
from interp.store import read_table, write_whole
from interp.tasks import build, families
from interp.tasks.distance import DISTANCES, Mode
from interp.tasks.far import KINDS, far_name

MODEL = "smollm2-135m"
PREFIXES = ("document", "bos", "none")
SEED = 0
METRIC = LOGIT_DIFFERENCE.name
N_PAIRS = {512: 16, 1024: 8, 2048: 8}
N_PAIRS_NEARER = 64
FOLDER = Path("reports") / "behaviour"
WHOLE = "all"
"""The template of the rows that hold a family whole."""

Group = list[str]
"""Families that are run together, because their prompts share beginnings."""


@dataclass(frozen=True)
class Table:
    """A table on disk that grows by whole families."""

    path: Path

    def rows(self) -> pd.DataFrame:
        """What is there."""
        return read_table(self.path) if self.path.is_file() else pd.DataFrame()

    def add(self, rows: pd.DataFrame) -> None:
        """Write some rows beside those that are there, in place of those of the same families."""
        there = self.rows()
        if len(there):
            same = ["prefix", "family"]
            keys = set(rows[same].itertuples(index=False, name=None))
            stay = [key not in keys for key in there[same].itertuples(index=False, name=None)]
            rows = pd.concat([there[stay], rows], ignore_index=True)
        text = rows.to_csv(index=False, float_format="%.6g", lineterminator="\n")
        write_whole(self.path, text.encode())

    def has(self, prefix: str, family: str, items: str) -> bool:
        """Whether the rows of these very items are there."""
        there = self.rows()
        return len(there) > 0 and bool(
            (
                (there["prefix"] == prefix)
                & (there["family"] == family)
                & (there["items"] == items)
            ).any()
        )


def main() -> None:
    """Measure what is missing, nearer families first, and draw what is there."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    model = load(MODEL)
    for group in groups():
        items_of = item_sets(group, model.tokenizer)
        for prefix in PREFIXES:
            measure(model.with_prefix(prefix), items_of)
        draw()


def groups() -> Iterator[Group]:
    """The families, short and near ones first.

    With a fixed source the prompts of one kind share their filler over all distances; with a fixed
    query those of one distance share what stands before the source. At the longest distance
    nothing does, and the two are the same prompts.
    """
    for phenomenon in ("agreement", "coreference"):
        yield [family.name for family in families(phenomenon) if "/" in family.name]
    near = [distance for distance in DISTANCES if distance not in N_PAIRS]
    far = [distance for distance in DISTANCES if distance in N_PAIRS]
    for distances in (near, far):
        for kind in KINDS:
            same = [far_name(kind, DISTANCES[-1], Mode.FIXED_QUERY)] if distances is far else []
            yield [far_name(kind, distance, Mode.FIXED_SOURCE) for distance in distances] + same
        for distance in [each for each in distances if each != DISTANCES[-1]]:
            yield [far_name(kind, distance, Mode.FIXED_QUERY) for kind in KINDS]


def item_sets(group: Group, tokenizer: Any) -> dict[str, list[Item]]:
    """The items of each family of a group, the same under every prefix."""
    return {
        family: build(family, tokenizer, n_pairs=n_pairs_of(family), seed=SEED) for family in group
    }


def n_pairs_of(family: str) -> int:
    """How many pairs of a family are run."""
    _, _, *rest = family.split("/")
    return N_PAIRS.get(int(rest[0]), N_PAIRS_NEARER) if rest else N_PAIRS_NEARER


def measure(model: Model, items_of: Mapping[str, list[Item]]) -> None:
    """Run the families whose rows are missing under the model's prefix, and write them."""
    prefix = model.prefix.policy
    there = _table("behaviour")
    missing = {
        family: items
        for family, items in items_of.items()
        if not there.has(prefix, family, _hash(items))
    }
    if not missing:
        return
    say(f"{prefix}: {', '.join(missing)}")
    answers = answer_table(model, [item for items in missing.values() for item in items])
    start = 0
    for family, items in missing.items():
        of_family = answers.iloc[start : start + len(items)]
        start += len(items)
        what = {"prefix": prefix, "family": family, **_place(family)}
        whole = of_family.assign(template_id=WHOLE)
        by_template = pd.concat([behaviour(whole), behaviour(of_family)], ignore_index=True)
        by_cell = pd.concat([cells(whole), cells(of_family)], ignore_index=True)
        for name, table in (("behaviour", by_template), ("cells", by_cell)):
            what_items = table.assign(items=_hash(items))
            _table(name).add(pd.DataFrame([what] * len(table)).join(what_items))


def draw() -> None:
    """The contrast of every family under every prefix, from the table."""
    rows = _table("behaviour").rows()
    whole = rows[rows["template_id"] == WHOLE]
    first = whole[whole["prefix"] == PREFIXES[0]]
    figures = {
        "contrast": contrast_map(whole, prefixes=PREFIXES),
        "distance": contrast_curves(first),
        "attraction": attraction(by_attractor(_whole_cells(), METRIC), METRIC),
    }
    for name, figure in figures.items():
        for kind in ("png", "svg"):
            write_whole(FOLDER / f"{name}.{kind}", encoded(figure, kind))
    n_families = sum(len(group) for group in groups())
    words = behaviour_words(whole, model=MODEL, prefixes=PREFIXES, n_families=n_families)
    write_whole(FOLDER / "README.md", words.encode())


def _whole_cells() -> pd.DataFrame:
    """The cells of whole families under the first prefix, called by the family."""
    rows = _table("cells").rows()
    whole = rows[(rows["template_id"] == WHOLE) & (rows["prefix"] == PREFIXES[0])]
    return whole.assign(template_id=whole["family"])


def _hash(items: list[Item]) -> str:
    return items_hash(items)[:16]


def _table(name: str) -> Table:
    return Table(FOLDER / f"{name}.csv")


def _place(family: str) -> dict[str, int | str | None]:
    """A family's kind, and of a long-range one its distance and mode."""
    phenomenon, kind, *rest = family.split("/")
    distance, mode = rest if phenomenon == "long_range" else (None, "")
    return {"kind": f"{phenomenon}/{kind}", "distance": distance and int(distance), "mode": mode}


if __name__ == "__main__":
    main()
