"""Measure the primer's claims, all or some, and write their page.

Run: `python -m analyses.primer`, or `python -m analyses.primer 1 3 --preset standard`.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from interp.progress import on_stderr, silent

FOLDER = Path("reports") / "primer"
PRESETS = ("quick", "standard")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, save and draw; the page holds the claims that were measured before, too."""
    given = _parser().parse_args(arguments)
    # importing the claims loads torch; `--help` does not wait for that
    from analyses.primer.book import draw, save
    from analyses.primer.claim import Setting
    from analyses.primer.claims import CLAIMS

    setting = Setting(
        preset=given.preset,
        seed=given.seed,
        conllu=given.conllu,
        progress=silent if given.quiet else on_stderr,
    )
    for claim in CLAIMS:
        if given.numbers and claim.number not in given.numbers:
            continue
        finding = claim.measure(setting)
        save(claim, finding, setting, given.out)
        print(f"{claim.number}. {claim.says} {claim.verdict(finding).capitalize()}.")
    draw(CLAIMS, given.out)
    print(f"Page: {given.out / 'report.html'}")


def _claim_number(text: str) -> int:
    # not `choices`: those refuse an empty list of numbers
    if text not in {"1", "2", "3", "4", "5", "6", "7"}:
        raise argparse.ArgumentTypeError(f"expected a claim, 1 to 7, got {text!r}")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m analyses.primer", description=__doc__)
    parser.add_argument(
        "numbers", nargs="*", type=_claim_number, metavar="N",
        help="claims to measure, 1 to 7; all if left out",
    )  # fmt: skip
    parser.add_argument("--preset", choices=PRESETS, default="quick")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder of the page")
    parser.add_argument(
        "--conllu", default="", metavar="FILE",
        help="a treebank for claim 5; generated sentences if left out",
    )  # fmt: skip
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")
    return parser


if __name__ == "__main__":
    try:
        main()
    except (ValueError, FileNotFoundError) as error:
        print(f"primer: {error}", file=sys.stderr)
        sys.exit(2)
