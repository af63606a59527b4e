"""The command line: every command is one audit, or one look at a result; messages go to stderr."""

from __future__ import annotations

import errno
import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import typer

from evenhand._errors import EvenhandError
from evenhand._files import MOST_UNPACKED, unpacking
from evenhand._version import __version__
from evenhand.audits import AUDITS
from evenhand.cli import defects
from evenhand.cli.help import gathered, whole_summaries
from evenhand.cli.output import VOICE, PatientStream

# typer brings its own copy of click, with private names; BadParameter < UsageError < ClickException in both.
ClickException: type[Any] = typer.BadParameter.__mro__[2]

app = typer.Typer(
    name="evenhand",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Measures whether a machine-learning model treats people even-handedly.",
    epilog="-v, --quiet, --json and --title may stand after a command, too. NO_COLOR is respected."
    " Exit codes: 0 done; 1 a check failed; 2 bad usage or bad input; 3 the subject failed and the"
    " audit is"
    " incomplete (run the same command again to resume); 4 a defect of evenhand (see evenhand doctor"
    " --last).",
)

KINDS = [kind for kind in AUDITS if find_spec(f"evenhand.cli.{kind.replace('-', '_')}")]
"""Audits with a command of their own, by the name of its module; every other one runs from an audit.toml."""
COMMANDS = (*KINDS, "embeddings", "init", "specs", "results", "journal", "about")
"""The modules of this folder that add commands, in the order of the help."""

for command in COMMANDS:
    import_module(f"evenhand.cli.{command.replace('-', '_')}").register(app)
whole_summaries(app)


@app.callback(invoke_without_command=True)
def _options(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", help="Print the version and stop."),
    verbose: bool = typer.Option(False, "--verbose", "-v", help="Print every finding and note of a result."),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="Print no summary and no progress."),
    title: str | None = typer.Option(None, help="The question that the report answers, as its heading."),
    as_json: bool = typer.Option(False, "--json", help="Print the result as JSON instead of a summary."),
    most_unpacked: int = typer.Option(
        MOST_UNPACKED, help="MB that a small packed file (.gz, .tar.gz, .npz) may unpack to."
    ),
) -> None:
    unpacking(most_unpacked)
    VOICE.verbose, VOICE.quiet, VOICE.as_json, VOICE.title = verbose, quiet, as_json, title
    if version:
        typer.echo(f"evenhand {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit


def main() -> None:
    """Entry point of `evenhand`: one clear message on stderr, the documented exit code, no traceback."""
    sys.stdout = PatientStream(sys.stdout)
    sys.exit(run(sys.argv[1:]))


INTERRUPTED = 130  # what typer returns for Ctrl-C


def run(arguments: list[str]) -> int:
    """Run the command line with `arguments`; the exit code."""
    try:
        code = int(app(gathered(arguments), standalone_mode=False, prog_name="evenhand") or 0)
    except EvenhandError as error:
        typer.echo(f"evenhand: {error.render()}", err=True)
        return error.exit_code
    except ClickException as error:
        error.show()
        return 2
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        hint = (
            "free some space and run the same command again" if full else "check the path and its permissions"
        )
        typer.echo(f"evenhand: {error.strerror}: {error.filename or ''}\n  hint:      {hint}", err=True)
        return 3 if full else 2
    except Exception as error:
        typer.echo(f"evenhand: {defects.report(error, arguments)}", err=True)
        return defects.EXIT_CODE
    if code == INTERRUPTED:
        said = "stopped. Every reply that had arrived is kept; run the same command again to go on."
        typer.echo(f"\nevenhand: {said}", err=True)
        return 3
    return code
