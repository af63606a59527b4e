"""What every auditing command shares: progress bar, files written, summary printed, exit code."""

from __future__ import annotations

import contextlib
import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TextIO

import typer

from evenhand import reports
from evenhand._files import check_writable, write_whole
from evenhand._result import Result
from evenhand._spec import Spec, described, to_toml
from evenhand.audits import AUDITS
from evenhand.cli.options import key_values

Progress = Callable[[int, int], None]
FILES = {"result.json": "json", "estimates.csv": "csv", "report.html": "html"}
"""What an audit writes into --out: file → report format."""


class PatientStream:
    """A stream that nobody has to read: `evenhand … | head` ends as it would have, files and exit code alike.

    Args:
        stream: what is written to as long as somebody reads.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        with self._closed_pipe_is_silent():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with self._closed_pipe_is_silent():
            self._stream.flush()

    @contextlib.contextmanager
    def _closed_pipe_is_silent(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:  # what is left in the buffer goes nowhere, now and when the process ends
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())


@contextlib.contextmanager
def progress_bar(total: int | None, what: str = "asking", *, cost: float | None = None) -> Iterator[Progress]:
    """A bar on stderr: failures, money so far (at most), time left; silent where stderr is no terminal.

    Args:
        cost: of all `total` inputs, at the prices the user gave; replies from the journal cost nothing, so
            the money shown is an upper bound.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[failed]}"),
        TimeRemainingColumn(),
    )
    silent = VOICE.quiet or not console.is_terminal
    with Progress(*columns, console=console, disable=silent, transient=True) as bar:
        task = bar.add_task(what, total=total, failed="")

        def update(done: int, failed: int) -> None:
            said = [f"{failed} failed"] if failed else []
            if cost is not None and total:
                said.append(f"≤ {cost * done / total:.2f} of {cost:.2f} spent")
            bar.update(task, completed=done, failed=", ".join(said))

        yield update


def call_of(kind: str, given: Mapping[str, Any], **settled: Any) -> Spec:
    """The call of the audit `kind` that a command's parameters describe.

    Args:
        given: the command's parameters, `locals()` of its first line; those named like keywords of the audit
            go to it as they are, and what the user left out is left out.
        settled: keywords whose values the command had to read first.
    """
    out, journal = given["out"], given.get("journal")
    names = inspect.signature(Spec(kind=kind).function()).parameters
    arguments = {
        name: str(value) if isinstance(value, Path) else value
        for name, value in {**given, **settled}.items()
        if name in names and value not in (None, [], (), {})
    }
    if given.get("no_cache"):
        arguments.pop("journal", None)
    elif AUDITS[kind].live and journal is None and out is not None:
        arguments["journal"] = str(out / "journal.sqlite")
    subject = key_values(given.get("option"))
    return Spec(kind=kind, arguments=arguments, subject=subject, out=None if out is None else str(out))


def write_all(result: Result, out: Path, spec: Spec | None = None) -> dict[str, Path]:
    """result.json, estimates.csv and report.html in `out`, and audit.toml, which repeats the call."""
    texts = {name: reports.render(result, kind) for name, kind in FILES.items()}
    if spec is not None:
        texts["audit.toml"] = to_toml(spec.kept())
    return {name: write_whole(out / name, text, private=True) for name, text in texts.items()}


@dataclass(kw_only=True)
class Voice:
    """How much a command says.

    Args:
        verbose: every finding and note. quiet: nothing but errors. as_json: the result itself, the rest on
            stderr. title: what reports call the audit.
    """

    verbose: bool = False
    quiet: bool = False
    as_json: bool = False
    title: str | None = None

    @property
    def about(self) -> dict[str, str]:
        """What the user says of the audit on the command line."""
        return {} if self.title is None else {"title": self.title}


VOICE = Voice()
"""Set once, by the options that may stand anywhere."""


def finish(result: Result, out: Path | None, spec: Spec | None = None, *, before: Sequence[str] = ()) -> None:
    """Write the files, print the lines `before` and the summary, say where the files are, end with the exit
    code."""
    result = described(result, VOICE.about)
    spec = None if spec is None else replace(spec, about={**spec.about, **VOICE.about})
    written = {} if out is None else write_all(result, out, spec)  # first: nobody may be reading
    if VOICE.as_json:
        typer.echo(result.to_json(), nl=False)
    if not VOICE.quiet:
        if not VOICE.as_json:
            typer.echo("\n".join([*before, reports.render(result, "terminal", full=VOICE.verbose)]))
        if written:
            typer.echo("\n  ".join(["Written:", *map(str, written.values())]), err=VOICE.as_json)
    if not result.complete:
        typer.echo("evenhand: the audit is incomplete; run the same command again to go on.", err=True)
        raise typer.Exit(3)


def perform(spec: Spec) -> None:
    """Run a saved call with a progress bar and finish."""
    if spec.out is not None:
        check_writable(spec.out)
    runtime: dict[str, Any] = {}
    total, cost = _size(spec)
    with progress_bar(total, cost=cost) as update:
        if AUDITS[spec.kind].live:
            runtime["progress"] = update
        result = spec.call(**runtime)
    sys.stderr.flush()
    finish(result, None if spec.out is None else Path(spec.out), spec)


def _size(spec: Spec) -> tuple[int | None, float | None]:
    """How many inputs a call will ask and what they cost, where that is known beforehand."""
    if spec.kind != "text":
        return None, None
    from evenhand.audits.text.designs import design_of
    from evenhand.audits.text.forecast import bill

    made = design_of(spec.arguments)
    return len(made) * int(spec.arguments.get("repeats", 1)), bill(made, spec.arguments)
