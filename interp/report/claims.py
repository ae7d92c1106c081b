"""A page of claims: a table of verdicts on top, and each claim with its rule and its figures."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from interp.report import canvas
from interp.report.html import rendered
from interp.report.methods import SCOPE_OF_CLAIMS
from interp.report.page import Plate
from interp.report.tables import Table
from interp.store import write_whole


@dataclass(frozen=True, kw_only=True)
class ClaimSection:
    """A claim as it stands on the page.

    Attributes:
        name: of its folder, which holds its figures and its tables.
        says: the claim, as people put it.
        headline: what its rule asks for first, and what was found.
        sentences: what was found in words; the first stands beside the verdict.
        rule: a row for each thing that the rule asks for.
        tables: the names of its tables as files.
    """

    number: int
    name: str
    says: str
    verdict: str
    how: str
    headline: tuple[str, str]
    sentences: Sequence[str]
    plates: Sequence[Plate]
    rule: Table
    tables: Sequence[str]


def write_claims(
    claims: Sequence[ClaimSection],
    folder: Path,
    *,
    title: str,
    kicker: str,
    opening: Sequence[str],
    methods: Sequence[str],
) -> None:
    """Write `report.html`, and each claim's figures as PNG and SVG into a folder of its name.

    Raises:
        ValueError: there are no claims.
    """
    if not claims:
        raise ValueError("expected at least one claim, got none; measure one first.")
    for claim in claims:
        (folder / claim.name).mkdir(parents=True, exist_ok=True)
        for plate in claim.plates:
            at = folder / claim.name / plate.name
            write_whole(at.with_suffix(".png"), plate.png)
            write_whole(at.with_suffix(".svg"), canvas.encoded(plate.figure, "svg"))
    page = rendered(
        "claims.html.j2",
        title=title,
        kicker=kicker,
        opening=opening,
        claims=claims,
        methods=methods,
        scope_of_claims=SCOPE_OF_CLAIMS,
    )
    write_whole(folder / "report.html", page)
