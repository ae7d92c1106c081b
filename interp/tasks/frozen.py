"""Frozen sets: small ones as files, large ones by the hash of what their file would hold."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from interp.items import Corruption
from interp.tasks import build, families
from interp.tasks.jsonl import pair_lines

PHENOMENA = ("agreement", "coreference")
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
    """A set for each corruption of each family; the mixes have none."""
    for phenomenon in PHENOMENA:
        for family in families(phenomenon):
            if family.name != phenomenon:
                for corruption in family.corruptions:
                    yield FrozenSet(family.name, corruption, N_PAIRS)


def large_sets() -> Iterator[FrozenSet]:
    """A set for the first corruption of each family."""
    seen: set[str] = set()
    for small in small_sets():
        if small.family not in seen:
            seen.add(small.family)
            yield small._replace(n_pairs=N_LARGE)


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
