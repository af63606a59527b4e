"""Commands that look at a result: report, check, compare."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated

import typer

from evenhand import reports
from evenhand._changes import compare
from evenhand._errors import UsageError
from evenhand._files import write_whole
from evenhand._result import Result

ResultFile = Annotated[Path, typer.Argument(help="A result.json that an audit wrote.")]


class FailOn(enum.StrEnum):
    """Which verdicts fail a check."""

    disparity = "disparity"
    inconclusive = "inconclusive"


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("report", epilog="Example: evenhand report result.json --html -o report.html")(report)
    app.command("check", epilog="Example: evenhand check result.json --fail-on disparity")(check)
    app.command("compare", epilog="Example: evenhand compare before/result.json after/result.json")(
        compare_results
    )


def report(
    result: ResultFile,
    html: Annotated[bool, typer.Option("--html", help="One self-contained page.")] = False,
    text: Annotated[bool, typer.Option("--text", help="For the terminal (the default).")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="GitHub-flavoured Markdown.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="The estimates, one row each.")] = False,
    json: Annotated[bool, typer.Option("--json", help="The result again, in today's schema.")] = False,
    junit: Annotated[bool, typer.Option("--junit", help="JUnit XML: a test case for each finding.")] = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write to this file; else to stdout.")
    ] = None,
) -> None:
    """Render a result as a page, text, Markdown, CSV, JSON or JUnit XML."""
    chosen = {"html": html, "terminal": text, "markdown": markdown, "csv": csv, "json": json, "junit": junit}
    kinds = [kind for kind, wanted in chosen.items() if wanted]
    if len(kinds) > 1:
        raise UsageError(
            "one-format", "one format at a time", given=", ".join(kinds), expected="one of the flags"
        )
    rendered = reports.render(Result.from_json(result), kinds[0] if kinds else "terminal")
    if out is None:
        typer.echo(rendered, nl=not rendered.endswith("\n"))
        return
    write_whole(out, rendered)
    typer.echo(f"Written: {out}", err=True)


def check(
    result: ResultFile,
    fail_on: Annotated[
        list[FailOn] | None,
        typer.Option("--fail-on", help="A verdict that fails the check; may be repeated."),
    ] = None,
) -> None:
    """Exit with 1 where the result holds a disparity (or also an inconclusive finding): for continuous integration."""
    failing = {str(f) for f in fail_on or [FailOn.disparity]}
    if "inconclusive" in failing:
        failing.add("disparity")
    loaded = Result.from_json(result)
    bad = [f for f in loaded.findings if f.verdict in failing]
    for finding in bad:
        e = finding.estimate
        given = f" ({e.given})" if e.given else ""
        typer.echo(
            f"{finding.verdict}: {e.measure}, {e.group} against {e.reference}{given}: {finding.because}"
        )
    counted = ", ".join(f"{n} {verdict}" for verdict, n in loaded.verdicts.items())
    typer.echo(f"{'failed' if bad else 'passed'}: {counted}")
    if not loaded.complete:
        typer.echo("evenhand: the audit is incomplete", err=True)
        raise typer.Exit(3)
    if bad:
        raise typer.Exit(1)


def compare_results(old: ResultFile, new: ResultFile) -> None:
    """What changed between two results: values, intervals and verdicts, the worse ones first."""
    exhibit = compare(Result.from_json(old), Result.from_json(new))
    typer.echo(f"{exhibit.title}\n{exhibit.note}")
    for row in exhibit.rows():
        given = f" ({row['given']})" if row["given"] else ""
        change = "" if row["change"] is None else f" {row['change']:+.4f}"
        verdicts = f"{row['old_verdict']} → {row['new_verdict']}"
        typer.echo(
            f"  {row['status']}: {row['measure']} {row['group']} − {row['reference']}{given}{change} {verdicts}"
        )
