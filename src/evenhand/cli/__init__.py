"""The command line: every command is one audit, or one look at a result. Messages go to stderr, results to stdout."""

from __future__ import annotations

import errno
import os
import sys

import click
import typer

from evenhand import __version__
from evenhand._errors import EvenhandError
from evenhand.cli import about, attack, embeddings, results, specs, text
from evenhand.cli import scores as recorded

app = typer.Typer(
    name="evenhand",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Measures whether a machine-learning model treats people even-handedly.",
    epilog="Exit codes: 0 done; 1 a check failed; 2 bad usage or bad input; 3 the subject failed and the audit is"
    " incomplete (run the same command again to resume).",
)

for module in (text, recorded, attack, embeddings, specs, results, about):
    module.register(app)


@app.callback(invoke_without_command=True)
def _options(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", help="Print the version and stop."),
) -> None:
    if version:
        typer.echo(f"evenhand {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit


def main() -> None:
    """Entry point of the `evenhand` command: one clear message on stderr, the documented exit code, no traceback."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run the command line with `arguments`; the exit code."""
    try:
        code = app(arguments, standalone_mode=False, prog_name="evenhand")
        return int(code or 0)
    except EvenhandError as error:
        typer.echo(f"evenhand: {error.render()}", err=True)
        return error.exit_code
    except click.ClickException as error:
        error.show()
        return 2
    except (KeyboardInterrupt, click.Abort):
        typer.echo(
            "\nevenhand: stopped. Every reply that had arrived is kept; run the same command again to go on.",
            err=True,
        )
        return 3
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # `evenhand … | head` is no error
        return 0
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        hint = (
            "free some space and run the same command again" if full else "check the path and its permissions"
        )
        typer.echo(f"evenhand: {error.strerror}: {error.filename or ''}\n  hint:      {hint}", err=True)
        return 3 if full else 2
