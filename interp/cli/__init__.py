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
    app.command()(_command)


def main() -> None:
    """Entry point: bad input is one sentence on stderr and exit code 2."""
    try:
        app()
    except (ValueError, OSError) as error:
        print(f"interp: {error}", file=sys.stderr)  # noqa: T201  the sentence is the interface
        sys.exit(2)
