"""`evenhand journal`: what replies are kept, and getting them out."""

from __future__ import annotations

import csv
import datetime
import json
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from evenhand._errors import DataError, UsageError
from evenhand._files import inert_cell
from evenhand._store import Journal
from evenhand._wording import visible
from evenhand.reports.page import cut

JournalFile = Annotated[Path, Argument(help="A journal.sqlite that an audit wrote.")]


EXAMPLE = "Example: evenhand journal"


def register(app: typer.Typer) -> None:
    """Add the commands."""
    commands = typer.Typer(no_args_is_help=True, help="Look at, export or prune the replies that were kept.")
    commands.command("stats", epilog=f"{EXAMPLE} stats out/journal.sqlite")(stats)
    commands.command("show", epilog=f"{EXAMPLE} show out/journal.sqlite --where failed")(show)
    commands.command("export", epilog=f"{EXAMPLE} export out/journal.sqlite replies.csv")(export)
    commands.command("prune", epilog=f"{EXAMPLE} prune out/journal.sqlite --older-than 90")(prune)
    app.add_typer(commands, name="journal", epilog=f"{EXAMPLE} stats out/journal.sqlite")


def _opened(path: Path) -> Journal:
    if not path.is_file():
        raise DataError("no-such-file", "there is no such journal", given=path)
    return Journal(path)


def stats(journal: JournalFile) -> None:
    """Per subject: replies, characters of input, first and last arrival; calls, money and tokens."""
    with _opened(journal) as opened:
        for row in opened.stats():
            first, last = (
                datetime.datetime.fromtimestamp(row[k], datetime.UTC).isoformat(timespec="seconds")
                for k in ("first", "last")
            )
            held = f"{row['replies']:,} replies, {row['characters']:,} characters"
            spent = [f"{row['calls']:,.0f} calls", f"{row['money']:,.2f} paid"] if row["calls"] else []
            if row["sent"] or row["received"]:
                spent.append(f"{row['sent']:,.0f} tokens sent, {row['received']:,.0f} received")
            ledger = f"; ledger: {', '.join(spent)}" if spent else ""
            typer.echo(f"{visible(row['subject'])}: {held}, {first} to {last}{ledger}")


def show(
    journal: JournalFile,
    where: Annotated[str, Option(help="all, or failed: only inputs that have no reply.")] = "all",
    limit: Annotated[int, Option(help="At most so many, newest first.", min=1)] = 20,
) -> None:
    """What arrived: each input, its scores or the reason why it has none, and the answer as it came."""
    if where not in ("all", "failed"):
        raise UsageError("where", "there is no such selection", given=where, available=["all", "failed"])
    with _opened(journal) as opened:
        rows = opened.shown(failed=where == "failed", limit=limit)
    for row in rows:
        when = datetime.datetime.fromtimestamp(row["created"], datetime.UTC).isoformat(timespec="seconds")
        told = row["reason"] or ", ".join(f"{name} {value:g}" for name, value in row["scores"].items())
        typer.echo(f"{when}  {visible(row['subject'])}  repeat {row['repeat']}")
        typer.echo(f"  input:  {cut(visible(row['input']), 300)}")
        typer.echo(f"  {'failed' if row['reason'] else 'scores'}: {cut(visible(told), 300)}")
        if row["answer"] is not None:
            typer.echo(f"  answer: {cut(visible(row['answer'].decode('utf-8', 'replace')), 2_000)}")
    typer.echo(f"{len(rows)} shown")


def export(
    journal: JournalFile,
    to: Annotated[Path, Argument(help="replies.csv or replies.jsonl; load it as the subject `recorded`.")],
    subject: Annotated[str | None, Option(help="Only the replies of this subject id.")] = None,
) -> None:
    """Write the replies to a table that `--subject recorded --option path=…` and `evenhand scores` read."""
    if to.suffix.lower() not in (".csv", ".jsonl"):
        raise UsageError(
            "unknown-format", "the ending names the format", given=to, available=[".csv", ".jsonl"]
        )
    with _opened(journal) as opened:
        rows = list(opened.rows(subject))
    if not rows:
        raise DataError("empty-file", "the journal holds no such reply", given=subject or journal)
    names = list(dict.fromkeys(name for row in rows for name in row))
    to.parent.mkdir(parents=True, exist_ok=True)
    with to.open("w", newline="", encoding="utf-8") as file:
        if to.suffix.lower() == ".jsonl":
            file.writelines(json.dumps(row) + "\n" for row in rows)
        else:
            writer = csv.DictWriter(file, names)
            writer.writeheader()
            writer.writerows(
                {k: inert_cell(v) if isinstance(v, str) else v for k, v in row.items()} for row in rows
            )
    typer.echo(f"Written: {to} ({len(rows):,} replies)")


def prune(
    journal: JournalFile,
    subject: Annotated[str | None, Option(help="Only the replies of this subject id.")] = None,
    older_than: Annotated[float | None, Option(help="Only replies older than so many days.")] = None,
) -> None:
    """Delete replies of one subject, or old ones; they would be asked, and paid for, again."""
    if subject is None and older_than is None:
        raise UsageError(
            "nothing-to-prune", "name what to delete", expected="--subject ID, or --older-than DAYS"
        )
    before = None
    if older_than is not None:
        before = (datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=older_than)).timestamp()
    with _opened(journal) as opened:
        typer.echo(f"{opened.prune(subject=subject, before=before):,} replies deleted")
