"""The command line. Heavy imports stand inside the commands, so that `--help` answers at once."""

import sys

import typer

from interp.cli import checks, heads, tasks

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Does a head do what its attention says? Attention and exact ablation, on the same items.",
)

_EXAMPLES = {
    "run": (
        "interp run agreement",
        "interp run all --preset standard --out reports/mine",
        "interp run pairs.jsonl --model ./my-model",
        "interp run long_range/recall/64/fixed_source --dry-run",
    ),
    "data": ("interp data coreference --pairs 16", "interp data pairs.jsonl --json found.json"),
    "heads": ("interp heads", "interp heads minilm-l6 --top 3"),
    "head": ("interp head L27H8", "interp head 27.8 --task agreement --json card.json"),
    "models": ("interp models",),
    "parity": ("interp parity", "interp parity llama gemma2"),
    "validate": ("interp validate", "interp validate induction", "interp validate --statistics"),
    "bench": ("interp bench 0 1 --rounds 3",),
    "report": (
        "interp report reports/smollm2-135m/agreement",
        "interp report reports/smollm2-135m/agreement --figure heatmaps --format pdf",
    ),
}

for _command in (
    tasks.run,
    tasks.data,
    heads.heads,
    heads.head,
    checks.models,
    checks.parity,
    checks.validate,
    checks.bench,
    tasks.report,
):
    app.command(epilog="\n\n".join(["Examples:", *_EXAMPLES[_command.__name__]]))(_command)


def main() -> None:
    """Entry point: bad input is one sentence on stderr and exit code 2."""
    try:
        app()
    except (ValueError, OSError, ModuleNotFoundError) as error:
        print(f"interp: {error}", file=sys.stderr)  # noqa: T201  the sentence is the interface
        sys.exit(2)
