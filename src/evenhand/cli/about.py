"""Commands about evenhand itself: list, explain, doctor."""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import sqlite3
import sys
import tempfile
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from evenhand._errors import UsageError
from evenhand._provenance import PACKAGES
from evenhand._version import __version__
from evenhand.audits import AUDITS
from evenhand.cli import defects


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("list", epilog="Example: evenhand list terms")(list_names)
    app.command("explain", epilog="Example: evenhand explain missing-values")(explain)
    app.command("doctor", epilog="Example: evenhand doctor")(doctor)


def list_names(what: Annotated[str, Argument(help="audits, subjects, terms, measures or datasets.")]) -> None:
    """List the names that other commands take, one a line, with a word on each."""
    if what not in LISTS:
        raise UsageError("nothing-to-list", "there is no such list", given=what, available=LISTS)
    rows = LISTS[what]()
    width = max(len(name) for name, _ in rows)
    for name, text in rows:
        typer.echo(f"{name:<{width}}  {text}".rstrip())


def _audits() -> list[tuple[str, str]]:
    return [(kind, row.title) for kind, row in AUDITS.items()]


def _subjects() -> list[tuple[str, str]]:
    from evenhand.subjects import ABOUT, EXTRAS, SUBJECTS

    rows = []
    for name in sorted(SUBJECTS):
        package, extra = EXTRAS.get(name, ("", ""))
        missing = bool(package) and importlib.util.find_spec(package) is None
        needs = f" [needs: pip install 'evenhand[{extra}]']" if missing else ""
        rows.append((name, ABOUT.get(name, "") + needs))
    return rows


def _terms() -> list[tuple[str, str]]:
    from evenhand.terms import list_terms
    from evenhand.terms.groups import GROUPS

    return [*list_terms().items(), *GROUPS.items()]


def _measures() -> list[tuple[str, str]]:
    from evenhand.measures import MEASURES

    rows = []
    for name, where in sorted(MEASURES.items()):
        module, _, attribute = where.partition(":")
        found = getattr(import_module(module), attribute)
        about = getattr(found, "reference", None) or " ".join((found.__doc__ or "").split("\n\n")[0].split())
        rows.append((name, about))
    return rows


def _datasets() -> list[tuple[str, str]]:
    from evenhand.plans.templates import SHIPPED as TEMPLATES
    from evenhand.texts import SHIPPED as TEXTS

    shipped = [(name, f"templates: {about}") for name, about in sorted(TEMPLATES.items())]
    return [*sorted(TEXTS.items()), *shipped]


LISTS = {
    "audits": _audits,
    "subjects": _subjects,
    "terms": _terms,
    "measures": _measures,
    "datasets": _datasets,
}


def explain(slug: Annotated[str, Argument(help="The name in brackets at the end of a message.")]) -> None:
    """Say what a message or a note means, by its name, e.g. missing-values."""
    known = messages()
    name = slug.strip("[]` ")
    if name not in known:
        raise UsageError("unknown-message", "no message has this name", given=name, available=sorted(known))
    page, text = known[name]
    typer.echo(f"[{name}] {text}\nIn the documentation: reference/{page}#{name}")


def messages() -> dict[str, tuple[str, str]]:
    """Name of a message → the page of docs/reference that explains it, and what it means."""
    here = files("evenhand.cli") / "messages"
    shipped = sorted(here.iterdir(), key=lambda f: f.name) if here.is_dir() else []
    source = Path(__file__).parents[3] / "docs" / "reference"
    found: dict[str, tuple[str, str]] = {}
    for page in shipped or sorted(source.glob("messages*.md")):
        for line in page.read_text(encoding="utf-8").splitlines():
            named, colon, text = line.partition(": ")
            slugs = re.findall(r"`([a-z0-9-]+)`", named)
            if line.startswith("- `") and colon:
                found |= dict.fromkeys(slugs, (Path(page.name).stem, text))
    return found


def doctor(
    last: Annotated[bool, Option("--last", help="Show the report of the last defect instead.")] = False,
) -> None:
    """Say what is installed and what works here: the first thing to put into a bug report."""
    if last:
        typer.echo(defects.last(), nl=False)
        return
    typer.echo(f"evenhand   {__version__}")
    typer.echo(f"python     {platform.python_version()} ({sys.executable})")
    typer.echo(f"platform   {platform.platform()}, {os.cpu_count()} cores")
    typer.echo(f"sqlite     {sqlite3.sqlite_version}")
    more = "narwhals vaderSentiment textblob pandas polars scikit-learn daft ray"
    for name in (*PACKAGES, *more.split()):
        try:
            typer.echo(f"{name:<10} {version(name)}")
        except PackageNotFoundError:
            typer.echo(f"{name:<10} not installed")
    problems = 0
    for label, check in (("journal", _check_journal), ("subject", _check_subject), ("report", _check_report)):
        try:
            typer.echo(f"{label:<10} {check()}")
        except Exception as error:  # the doctor reports whatever is wrong
            problems += 1
            typer.echo(f"{label:<10} FAILED: {type(error).__name__}: {error}")
    raise typer.Exit(1 if problems else 0)


def _check_journal() -> str:
    import numpy as np

    from evenhand._model import Replies
    from evenhand._store import Journal

    with tempfile.TemporaryDirectory() as folder, Journal(Path(folder) / "j.sqlite") as journal:
        journal.put("doctor", ["a"], Replies(scores={"score": np.array([1.0])}))
        found = journal.get("doctor", ["a"])
    return "ok" if found == {0: {"score": 1.0}} else f"wrote 1.0, read {found}"


def _check_subject() -> str:
    from evenhand.subjects import subject

    score = subject("vader")(["What a wonderful day!"]).scores["compound"][0]
    return f"ok: vader gives {score:+.2f} to a wonderful day"


def _check_report() -> str:
    from evenhand._result import Result

    page = Result(audit="scores", title="doctor").to_html()
    return f"ok: an empty report has {len(page):,} bytes"
