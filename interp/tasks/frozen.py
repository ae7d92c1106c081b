"""Frozen sets: small ones as files, large ones by the hash of what their file would hold."""

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from interp.items import Corruption
from interp.tasks import build, families
from interp.tasks.distance import DISTANCES, Mode, most_pairs
from interp.tasks.far import KINDS, far_name
from interp.tasks.jsonl import pair_lines

SMALL_DISTANCE, LARGE_DISTANCE = 16, 256
"""Long-range families have small sets at the one, and larger ones up to the other.

Farther away, texts of a pair are the same words with more filler between.
"""

SEED = 0
N_PAIRS = 32
N_LARGE = 512
HASHES = "large.csv"


class FrozenSet(NamedTuple):
    """A set by what makes it; the tokenizer apart."""

    family: str
    corruption: Corruption
    n_pairs: int
    seed: int = SEED

    @property
    def filename(self) -> str:
        """Such as `agreement.pp1.role_flip.jsonl`."""
        return f"{self.family.replace('/', '.')}.{self.corruption}.jsonl"


def small_sets() -> Iterator[FrozenSet]:
    """A set for each corruption of each short family, and of each long-range kind."""
    yield from _sets(family.name for family in families() if family.name.count("/") == 1)
    yield from _sets(far_name(kind, SMALL_DISTANCE, Mode.FIXED_SOURCE) for kind in KINDS)


def large_sets() -> Iterator[FrozenSet]:
    """A set for each corruption of each short family, and of each long-range kind at distances.

    At a distance it is as large as one run takes: the source is fixed, and once the query.
    """
    short = (family.name for family in families() if family.name.count("/") == 1)
    far = [
        far_name(kind, distance, Mode.FIXED_SOURCE)
        for kind in KINDS
        for distance in DISTANCES
        if distance <= LARGE_DISTANCE
    ]
    fixed = [far_name(kind, LARGE_DISTANCE, Mode.FIXED_QUERY) for kind in KINDS]
    for frozen in _sets((*short, *far, *fixed)):
        yield frozen._replace(n_pairs=min(N_LARGE, most_pairs(frozen.family)))


def _sets(names: Iterable[str]) -> Iterator[FrozenSet]:
    """Families by their corruptions. The mixes are not in halves, and have no sets."""
    by_name = {family.name: family for family in families()}
    for name in names:
        for corruption in by_name[name].corruptions:
            yield FrozenSet(name, corruption, N_PAIRS)


def content(frozen: FrozenSet, tokenizer: Any) -> str:
    """What the file of a set holds: its items, built again."""
    items = build(
        frozen.family,
        tokenizer,
        n_pairs=frozen.n_pairs,
        seed=frozen.seed,
        corruption=frozen.corruption,
    )
    return "".join(f"{line}\n" for line in pair_lines(items))


def sha256(frozen: FrozenSet, tokenizer: Any) -> str:
    """The hash of that file."""
    return hashlib.sha256(content(frozen, tokenizer).encode()).hexdigest()


def write_frozen(folder: Path, tokenizer: Any) -> None:
    """The small sets as JSON lines, and a table of the large ones' hashes; others are removed."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    for frozen in small_sets():
        path = folder / frozen.filename
        path.write_text(content(frozen, tokenizer), encoding="utf-8", newline="\n")
    rows = [(*frozen, sha256(frozen, tokenizer)) for frozen in large_sets()]
    columns = [*FrozenSet._fields, "sha256"]
    pd.DataFrame(rows, columns=columns).to_csv(folder / HASHES, index=False, lineterminator="\n")
