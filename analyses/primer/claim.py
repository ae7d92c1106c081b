"""A claim of the primer, how it is measured, and what was found."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pandas as pd

from analyses.primer.rule import Estimate, Rule, Verdict
from interp.models import Model, load
from interp.progress import Progress, silent
from interp.report.page import Plate
from interp.store import Run
from interp.tasks import NAMES

Tables = Mapping[str, pd.DataFrame]
_COMMITTED = Path("reports") / "smollm2-135m-standard"


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What a measurement is told.

    Attributes:
        preset: `"quick"` or `"standard"`; each claim says what they mean for it.
        seed: of all chance.
        conllu: a treebank for the claim about syntax; generated sentences where it is empty.
    """

    preset: str = "quick"
    seed: int = 0
    conllu: str = ""
    progress: Progress = field(default=silent, compare=False)


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What was found about a claim.

    Attributes:
        evidence: the figures that its rule asks for.
        sentences: what they say, and what else was seen, in words.
        tables: in full, by name.
    """

    evidence: dict[str, Estimate]
    sentences: list[str]
    tables: dict[str, pd.DataFrame]


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A claim and its rule, which was written down before its figures were seen.

    Attributes:
        says: the claim, as people put it.
        how: what is measured, in a few sentences.
        plates: the figures, from the tables alone.
    """

    number: int
    name: str
    says: str
    how: str
    rule: Rule
    measure: Callable[[Setting], Finding]
    plates: Callable[[Tables], Iterator[Plate]]

    def verdict(self, finding: Finding) -> Verdict:
        """What the rule makes of the figures."""
        return self.rule.verdict(finding.evidence)


@cache
def smollm2() -> Model:
    """The decoder that claims are held against: 30 layers of 9 heads."""
    return load("smollm2-135m")


def committed_runs() -> dict[str, Run]:
    """SmolLM2's three phenomena as they were committed, by task.

    Raises:
        FileNotFoundError: the folder is not there; run from the root of the checkout.
    """
    return {task: Run.load(_COMMITTED / task) for task in NAMES}


@cache
def minilm() -> Model:
    """The encoder that claims are held against: 6 layers of 12 heads."""
    return load("minilm-l6")
