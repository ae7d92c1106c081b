"""Findings on disk, and the page that is made of them."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from math import isfinite
from pathlib import Path

from analyses.primer.claim import Claim, Finding, Setting
from analyses.primer.rule import Ask, Estimate
from interp.report.claims import ClaimSection, write_claims
from interp.report.spelling import number
from interp.report.tables import Table
from interp.store import read_table, write_whole

_OPENING = (
    "What people say about attention every day, each claim held against real models: SmolLM2-135M "
    "(a decoder, 30 layers of 9 heads) and MiniLM (an encoder, 6 layers of 12), and against small "
    "models trained on the spot where the claim is about training.",
    "A claim has a rule that was written before its figures were seen. It asks for figures within "
    "bounds, and each is answered by its whole 95 % interval: met, not met, or open. The claim "
    "holds when all are met; it does not hold here when one of its core is not, or none is; "
    "anything else is within limits.",
)
_FINDING = "finding.json"


def save(claim: Claim, finding: Finding, setting: Setting, folder: Path) -> None:
    """Write a finding: each table as CSV, and figures and sentences as `finding.json`, last."""
    home = folder / claim.name
    home.mkdir(parents=True, exist_ok=True)
    for old in home.glob("*.csv"):
        if old.stem not in finding.tables:
            old.unlink()
    for name, table in finding.tables.items():
        text = table.to_csv(index=False, float_format="%.6g", lineterminator="\n")
        write_whole(home / f"{name}.csv", text.encode())
    content = {
        "verdict": claim.verdict(finding),
        "preset": setting.preset,
        "seed": setting.seed,
        "evidence": {name: asdict(each) for name, each in finding.evidence.items()},
        "sentences": finding.sentences,
    }
    text = json.dumps(content, indent=2, ensure_ascii=False)
    write_whole(home / _FINDING, f"{text}\n".encode())


def load(claim: Claim, folder: Path) -> Finding | None:
    """The finding that `save` wrote, or None where there is none."""
    home = folder / claim.name
    if not (home / _FINDING).is_file():
        return None
    content = json.loads((home / _FINDING).read_text(encoding="utf-8"))
    return Finding(
        evidence={name: Estimate(**each) for name, each in content["evidence"].items()},
        sentences=content["sentences"],
        tables={path.stem: read_table(path) for path in sorted(home.glob("*.csv"))},
    )


def draw(claims: Sequence[Claim], folder: Path) -> None:
    """The page of all claims whose findings are there.

    Raises:
        ValueError: there are none.
    """
    found = [(claim, load(claim, folder)) for claim in claims]
    sections = [section(claim, finding) for claim, finding in found if finding is not None]
    write_claims(
        sections,
        folder,
        title="The primer's claims, measured",
        kicker="What people say about attention",
        opening=_OPENING,
        methods=_methods(claims, folder),
    )


def section(claim: Claim, finding: Finding) -> ClaimSection:
    """A claim as it stands on the page, its verdict following from its rule."""
    answers = claim.rule.answers(finding.evidence)
    first = claim.rule.asks[0]
    return ClaimSection(
        number=claim.number,
        name=claim.name,
        says=claim.says,
        verdict=claim.verdict(finding),
        how=claim.how,
        headline=(first.what, written(first, finding.evidence[first.name])),
        sentences=finding.sentences,
        plates=list(claim.plates(finding.tables)),
        rule=Table(
            columns=["figure", "part", "answer", "asked for", "found"],
            rows=[
                [
                    ask.what,
                    "core" if ask.is_core else "limit",
                    answers[ask.name],
                    bounds(ask),
                    written(ask, finding.evidence[ask.name]),
                ]
                for ask in claim.rule.asks
            ],
            n_text=3,
        ),
        tables=sorted(finding.tables),
    )


def written(ask: Ask, found: Estimate) -> str:
    """A figure with its interval in brackets, if it has one."""
    if not isfinite(found.value):
        return "undefined"
    value, low, high = (number(each, ask.digits) for each in (found.value, found.low, found.high))
    return value if found.low == found.high else f"{value} [{low}, {high}]"


def bounds(ask: Ask) -> str:
    """What is asked of a figure: "≥ 0.95", "0.95 to 1.05"."""
    low, high = (f"{each:.3g}".replace("-", "−") for each in (ask.at_least, ask.at_most))
    if isfinite(ask.at_least) and isfinite(ask.at_most):
        return f"{low} to {high}"
    return f"≥ {low}" if isfinite(ask.at_least) else f"≤ {high}"


def _methods(claims: Sequence[Claim], folder: Path) -> list[str]:
    presets = {}
    for claim in claims:
        if (folder / claim.name / _FINDING).is_file():
            content = json.loads((folder / claim.name / _FINDING).read_text(encoding="utf-8"))
            presets[claim.number] = f"{content['preset']}, seed {content['seed']}"
    how = sorted(set(presets.values()))
    said = (
        f"All claims were measured with the preset {how[0]}."
        if len(how) == 1
        else f"Presets: {'; '.join(f'claim {each}: {how}' for each, how in presets.items())}."
    )
    return [
        f"{said} The same seed gives the same tables on the same machine. Intervals are 95 %: "
        "cluster-robust t over texts, pairs, documents or seeds; Wilson's for counted heads; of "
        "order statistics for medians. With three seeds they have two degrees of freedom, and are "
        "wide.",
        "Prose is 16 passages, and parsed sentences come from a small grammar; both were written "
        "for this project. `python -m analyses.primer` makes the page again, and a number after it "
        "one claim alone.",
    ]
