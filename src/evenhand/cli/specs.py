"""`evenhand plan` and `evenhand run`: an audit saved as a file."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from evenhand._design import of_result
from evenhand._errors import UsageError
from evenhand._spec import Spec, read_spec, validate
from evenhand.audits import AUDITS
from evenhand.cli import options as shared
from evenhand.cli.output import perform

SpecFile = Annotated[Path, Argument(help="audit.toml; see docs/reference/audit-file.md.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("plan", epilog="Example: evenhand plan audit.toml --price 0.0001 --rate 10")(plan)
    app.command("run", epilog="Example: evenhand run audit.toml --out out/")(run)


def plan(
    file: SpecFile,
    price: shared.Price = None,
    price_per_100: shared.PricePer100 = None,
    minimum_units: Annotated[
        int | None, Option(help="Least units of 100 billed for one call; 1 by default.")
    ] = None,
    rate: Annotated[float | None, Option(help="Calls a second that the service allows.")] = None,
    sds: Annotated[
        list[float] | None, Option("--sd", help="Spread that you expect of a term's effect; may be repeated.")
    ] = None,
) -> None:
    """Say what an audit will ask, cost and be able to find, with the chance of each verdict; asks nothing."""
    given = locals()
    spec = read_spec(file)
    row = AUDITS[spec.kind]
    if row.forecast is None and not spec.arguments:
        raise UsageError("nothing-to-plan", f"the {spec.kind} audit asks no subject", given=spec.kind)
    module, _, attribute = (row.forecast or "evenhand.cli.specs:recorded").partition(":")
    forecast = getattr(import_module(module), attribute)
    known = [name for name in inspect.signature(forecast).parameters if name in given]
    wanted = {name: value for name, value in given.items() if name != "file" and value is not None}
    for name in wanted:
        if name not in known:
            raise UsageError(
                "unknown-argument",
                f"a plan of the {spec.kind} audit makes no use of it",
                given=name,
                available=known,
            )
    with spec.place():
        for line in forecast(spec.arguments if row.forecast else spec, **wanted):
            typer.echo(line)


def recorded(spec: Spec) -> Iterator[str]:
    """What a recorded table's sizes and spreads allow: the audit is made, its gaps are not shown."""
    yield "chance of each verdict with the sizes and the spread of this table (estimated: so a range)"
    yield from of_result(spec.call())


def run(
    file: SpecFile,
    out: Annotated[Path | None, Option(help="Folder for the results; overrides the file's.")] = None,
    journal: shared.Journal = None,
    rescore: shared.Rescore = False,
    no_cache: shared.NoCache = False,
    engine: shared.Engine = None,
) -> None:
    """Run an audit from its file; run it again after an interruption and it goes on where it stopped."""
    spec = read_spec(file)
    where = str(out.absolute() if out is not None else Path(spec.folder or "") / (spec.out or "evenhand-out"))
    arguments = dict(spec.arguments)
    if AUDITS[spec.kind].live:
        if no_cache:
            arguments.pop("journal", None)
        elif journal is not None or "journal" not in arguments:
            kept = Path(where) / "journal.sqlite"
            arguments["journal"] = str(kept if journal is None else journal.absolute())
    if engine is not None:
        if why := AUDITS[spec.kind].one_machine:
            said = f"the {spec.kind} audit is made in one process: {why}"
            raise UsageError("engine", said, given=engine, expected="no --engine")
        arguments["engine"] = engine
    if rescore:
        arguments = dict(validate({"kind": spec.kind, "arguments": {**arguments, "rescore": True}}).arguments)
    with spec.place():
        perform(replace(spec, arguments=arguments, out=where))
