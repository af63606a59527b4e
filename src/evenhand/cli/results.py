"""Commands that look at a result: report, check, compare, pack, verify."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from evenhand import reports
from evenhand._changes import beside, compare
from evenhand._errors import UsageError
from evenhand._evidence import pack, verify
from evenhand._files import write_whole
from evenhand._gate import check as gate
from evenhand._gate import policy_of, told
from evenhand._json import SEVERITY
from evenhand._result import Result
from evenhand._spec import described
from evenhand.cli.output import VOICE
from evenhand.reports import REPORTS

ResultFile = Annotated[Path, Argument(help="A result.json that an audit wrote.")]


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("report", epilog="Example: evenhand report result.json --html -o report.html")(report)
    app.command("check", epilog="Example: evenhand check result.json --fail-on disparity")(check)
    epilog = "Example: evenhand compare before/result.json after/result.json"
    app.command("compare", epilog=epilog)(compare_results)
    app.command("pack", epilog="Example: evenhand pack out/result.json --to evidence.zip")(pack_result)
    app.command("verify", epilog="Example: evenhand verify evidence.zip")(verify_path)


ALIASES = {"text": "terminal"}
"""Names that people use for a format beside the one in the table."""


def report(
    results: Annotated[
        list[Path], Argument(help="A result.json that an audit wrote; several stand side by side.")
    ],
    kind: Annotated[
        str | None, Option("--as", help=f"{', '.join(REPORTS)}; by default what the ending of --out says.")
    ] = None,
    html: Annotated[bool, Option("--html", help=REPORTS["html"].about)] = False,
    text: Annotated[bool, Option("--text", help=REPORTS["terminal"].about)] = False,
    markdown: Annotated[bool, Option("--markdown", help=REPORTS["markdown"].about)] = False,
    csv: Annotated[bool, Option("--csv", help=REPORTS["csv"].about)] = False,
    json: Annotated[bool, Option("--json", help=REPORTS["json"].about)] = False,
    junit: Annotated[bool, Option("--junit", help=REPORTS["junit"].about)] = False,
    out: Annotated[Path | None, Option("--out", "-o", help="Write to this file; else to stdout.")] = None,
) -> None:
    """Render a result as a page, text, Markdown, CSV, JSON, JUnit XML, …: --as FORMAT, or by -o's ending."""
    flags = {"html": html, "terminal": text, "markdown": markdown, "csv": csv, "json": json, "junit": junit}
    kinds = [name for name, wanted in flags.items() if wanted]
    kinds += [] if kind is None else [ALIASES.get(kind, kind)]
    kinds = list(dict.fromkeys(kinds))
    if len(kinds) > 1 and out is None:
        given, expected = ", ".join(kinds), "-o NAME, which gets the ending of each format"
        raise UsageError("one-format", "several formats need a file each", given=given, expected=expected)
    if not kinds:
        kinds = ["terminal" if out is None or not out.suffix else reports.format_of(out)]
    loaded = described(_loaded(results), VOICE.about)
    for name in kinds:
        more = {"full": VOICE.verbose} if name == "terminal" else {}
        rendered = reports.render(loaded, name, **more)
        if out is None:
            typer.echo(rendered, nl=not rendered.endswith("\n"))
            continue
        path = out if len(kinds) == 1 else out.with_suffix(REPORTS[name].suffix)
        write_whole(path, rendered)
        typer.echo(f"Written: {path}", err=True)


def _loaded(paths: list[Path]) -> Result:
    """One result, or several as one, each by its system's name; where two share it, by their folders."""
    made = [Result.from_json(path) for path in paths]
    if len(made) == 1:
        return made[0]
    said = [(r.provenance.get("about") or {}).get("system") or r.provenance.get("subject") for r in made]
    names = [
        str(name) if name else path.parent.name or path.stem for name, path in zip(said, paths, strict=True)
    ]
    if len(set(names)) < len(names):
        names = [path.parent.name if path.stem == "result" else path.stem for path in paths]
    if len(set(names)) < len(names):
        names = [str(path) for path in paths]
    return beside(dict(zip(names, made, strict=True)))


def check(
    result: ResultFile,
    fail_on: Annotated[
        str,
        Option(
            help="The mildest verdict of a primary claim that fails: disparity, gap, inconclusive or never."
        ),
    ] = "gap",
    policy: Annotated[
        Path | None, Option(help="A TOML file that says which claims fail on what, instead of --fail-on.")
    ] = None,
    baseline: Annotated[
        Path | None,
        Option(help="An earlier result.json: what failed there fails here only where it grew."),
    ] = None,
) -> None:
    """Exit with 1 where a primary claim comes out badly, or nothing was judged: for automated checks."""
    rules = policy_of({"fail_on": fail_on} if policy is None else policy)
    loaded = Result.from_json(result)
    found = gate(loaded, rules, None if baseline is None else Result.from_json(baseline))
    for finding, news in found.failed:
        typer.echo(told(finding, news))
    for number in found.unused:
        typer.echo(f"evenhand: rule {number} of the policy fits no claim", err=True)
    tally = ", ".join(f"{found.tally.get(verdict, 0)} {verdict}" for verdict in SEVERITY)
    counted = f"{tally} of the {'primary ' if rules.claims == 'primary' else ''}claims"
    if found.known:
        counted += f"; {len(found.known)} failed in the baseline as well and did not grow"
    typer.echo(f"{'passed' if found.passed else 'failed'}: {found.empty or counted}")
    if not loaded.complete:
        typer.echo("evenhand: the audit is incomplete", err=True)
        raise typer.Exit(3)
    if not found.passed:
        raise typer.Exit(1)


def compare_results(old: ResultFile, new: ResultFile) -> None:
    """What changed between two results: values, intervals and verdicts, the worse ones first."""
    exhibit = compare(Result.from_json(old), Result.from_json(new))
    typer.echo(f"{exhibit.title}\n{exhibit.note}")
    same = 0
    for row in exhibit.rows():
        if row["status"] == "same verdict" and row["changed"] in (None, "not settled"):
            same += 1
            continue
        given = f" ({row['given']})" if row["given"] else ""
        change = "" if row["change"] is None else f" {row['change']:+.4f}"
        if row["change_low"] is not None:
            change += f" ({row['change_low']:+.4f} to {row['change_high']:+.4f}: {row['changed']})"
        verdicts = f"{row['old_verdict']} → {row['new_verdict']}"
        typer.echo(
            f"  {row['status']}: {row['measure']} {row['group']} − {row['reference']}{given}{change}"
            f" {verdicts}"
        )
    if same:
        typer.echo(f"  {same} more with the same verdict and no change that is shown.")


def pack_result(
    result: ResultFile,
    to: Annotated[Path, Option(help="The archive to write, .zip.")] = Path("evidence.zip"),
    include: Annotated[
        list[Path] | None, Option(help="A further file that goes along. May be repeated.")
    ] = None,
) -> None:
    """Put a result, its page and tables, the call, hashes and a map of rules into one archive to hand on."""
    written = pack(result, to, include=include or [])
    typer.echo(f"Written: {written}")


def verify_path(path: Annotated[Path, Argument(help="An evidence pack, or a result.json.")]) -> None:
    """Exit with 1 where a pack or a result is not whole: a changed byte, a verdict that does not follow."""
    found = verify(path)
    for item in found:
        typer.echo(f"{'ok' if item.holds else 'FAILED'}: {item.said}")
    if not all(item.holds for item in found):
        raise typer.Exit(1)
