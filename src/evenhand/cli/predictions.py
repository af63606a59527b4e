"""`evenhand predictions`: audit a table of predictions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from evenhand._errors import UsageError
from evenhand._result import Result
from evenhand._spec import Spec
from evenhand.cli.options import key_values, level_option, named_levels, out_option
from evenhand.cli.output import finish, progress_bar


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "predictions",
        epilog="Example: evenhand predictions preds.csv --y-true G3 --y-pred pred --group sex --reference M --out out/",
    )(predictions)


def predictions(
    file: Annotated[Path, typer.Argument(help="CSV, TSV, JSON lines, Parquet or Arrow, one row a person.")],
    y_pred: Annotated[
        str, typer.Option("--y-pred", help="Column with predictions: numbers or class labels.")
    ],
    group: Annotated[
        list[str] | None, typer.Option("--group", help="Column with groups; may be repeated.")
    ] = None,
    y_true: Annotated[str | None, typer.Option("--y-true", help="Column with outcomes.")] = None,
    y_score: Annotated[
        str | None, typer.Option("--y-score", help="Column with a classifier's scores, 0 to 1.")
    ] = None,
    reference: Annotated[
        list[str] | None,
        typer.Option(
            "--reference",
            help="GROUP, or COLUMN=GROUP, that the others are held against; the largest by default.",
        ),
    ] = None,
    measures: Annotated[
        list[str] | None,
        typer.Option("--measures", help="default, notebook-2022, or the name of a measure; may be repeated."),
    ] = None,
    task: Annotated[
        str, typer.Option("--task", help="auto, regression, classification or ranking.")
    ] = "auto",
    positive: Annotated[str | None, typer.Option("--positive", help="The favourable class.")] = None,
    intersections: Annotated[
        bool, typer.Option("--intersections", help="Also compare combinations of the groups.")
    ] = False,
    control: Annotated[
        list[str] | None,
        typer.Option("--control", help="A legitimate factor: compare within its levels; may be repeated."),
    ] = None,
    continuous: Annotated[
        list[str] | None,
        typer.Option("--continuous", help="A sensitive attribute that is a number, e.g. age."),
    ] = None,
    interval: Annotated[
        tuple[str, str] | None,
        typer.Option("--interval", help="Columns with the bounds of prediction intervals."),
    ] = None,
    pinball: Annotated[
        float | None,
        typer.Option("--pinball", help="τ of a model that predicts a quantile: compare pinball losses."),
    ] = None,
    weight: Annotated[str | None, typer.Option("--weight", help="Column with case weights.")] = None,
    lists: Annotated[
        str | None,
        typer.Option(
            "--list", help="Column with the ranked list (query) of a row; makes the task a ranking."
        ),
    ] = None,
    missing: Annotated[str, typer.Option("--missing", help="drop (and count), error, or group.")] = "drop",
    quantile: Annotated[
        list[float] | None,
        typer.Option("--quantile", help="Selection threshold as a quantile; may be repeated."),
    ] = None,
    tolerance: Annotated[
        list[str] | None,
        typer.Option("--tolerance", help="MEASURE=VALUE, e.g. 'disparate impact=0.8'; may be repeated."),
    ] = None,
    law: Annotated[str | None, typer.Option("--law", help="ll144 or four-fifths: add these tables.")] = None,
    suggest_threshold: Annotated[
        bool,
        typer.Option(
            "--suggest-threshold", help="Group-blind thresholds that keep the impact ratio in its band."
        ),
    ] = False,
    level: level_option = 0.95,
    correction: Annotated[str, typer.Option("--correction", help="holm, bh or none.")] = "holm",
    replicates: Annotated[
        int, typer.Option("--replicates", help="Bootstrap replicates as a check; 0 for none.")
    ] = 0,
    seed: Annotated[int, typer.Option("--seed", help="Of everything random.")] = 0,
    out: out_option = None,
) -> None:
    """Audit predictions that someone recorded: every measure by group, with interval, p-value and verdict."""
    given: dict[str, Any] = {
        "data": str(file),
        "y_pred": y_pred,
        "groups": group or [],
        "y_true": y_true,
        "y_score": y_score,
        "reference": named_levels(reference, group or []),
        "measures": measures or "default",
        "task": task,
        "positive": positive,
        "intersections": intersections,
        "control": control or [],
        "continuous": continuous or [],
        "interval": None if interval is None else list(interval),
        "pinball": pinball,
        "weight": weight,
        "lists": lists,
        "missing": missing,
        "quantiles": quantile or [0.9, 0.8, 0.5],
        "tolerance": _tolerances(tolerance),
        "law": law,
        "suggest_threshold": suggest_threshold,
        "level": level,
        "correction": correction,
        "replicates": replicates,
        "seed": seed,
    }
    spec = Spec(kind="predictions", arguments=given, out=None if out is None else str(out))
    with progress_bar(None, "reading") as update:
        result = spec.call(progress=update)
    for line in tables(result):
        typer.echo(line)
    if out is not None:
        write_tables(result, out)
    finish(result, out, spec)


def _tolerances(given: list[str] | None) -> dict[str, Any] | None:
    if not given:
        return None
    found = key_values(given, "--tolerance")
    for name, value in found.items():
        if not isinstance(value, int | float | list):
            raise UsageError(
                "bad-tolerance",
                "a tolerance is a number",
                given=f"{name}={value}",
                expected="disparate impact=0.8",
            )
    return found


PRINTED = ("notebook-2022 ", "ll144 ", "four-fifths ", "suggested thresholds by ")


def tables(result: Result) -> list[str]:
    """The tables that the user asked for by name, as text with every digit of the notebook's."""
    lines: list[str] = []
    for name, exhibit in result.exhibits.items():
        if not name.startswith(PRINTED):
            continue
        full = name.startswith("notebook")
        rows = [[_cell(v, full=full) for v in row.values()] for row in exhibit.rows()]
        heads = list(exhibit.columns)
        widths = [max(len(r[i]) for r in [heads, *rows]) for i in range(len(heads))]
        lines += [exhibit.title, ""]
        lines += [
            "  ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)).rstrip() for r in [heads, *rows]
        ]
        lines += ["", exhibit.note, ""]
    return lines


def _cell(value: Any, *, full: bool) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return repr(value) if full else f"{value:.4g}" if abs(value) < 1000 else f"{value:.0f}"
    return str(value)


def write_tables(result: Result, out: Path) -> None:
    """Each of these tables as a CSV file of its own in `out`, ready to publish."""
    import pyarrow as pa
    import pyarrow.csv as csv

    for name, exhibit in result.exhibits.items():
        if name.startswith(PRINTED):
            out.mkdir(parents=True, exist_ok=True)
            file = out / (
                "".join(c if c.isalnum() else "-" for c in name.lower()).replace("---", "-") + ".csv"
            )
            csv.write_csv(pa.table({k: _neutral(list(v)) for k, v in exhibit.columns.items()}), str(file))
            typer.echo(f"Written: {file}")


def _neutral(values: list[Any]) -> list[Any]:
    """Cells that a spreadsheet would run as a formula begin with an apostrophe."""
    return [f"'{v}" if isinstance(v, str) and v[:1] in "=+-@\t\r" and v else v for v in values]
