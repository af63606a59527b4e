"""`evenhand predictions`: audit a table of predictions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from evenhand._errors import UsageError
from evenhand._files import check_writable
from evenhand._result import Result
from evenhand.cli import options as shared
from evenhand.cli.options import key_values, named_levels, tolerances
from evenhand.cli.output import call_of, finish, progress_bar
from evenhand.reports.csv import neutral


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "predictions",
        epilog="Example: evenhand predictions preds.csv --y-true G3 --y-pred pred --group sex --reference M"
        " --out out/",
    )(predictions)


def predictions(
    data: Annotated[
        Path | None,
        Argument(
            help="A file: CSV, TSV, JSON lines, Parquet or Arrow, one row a person. Also a folder of files,"
            " or a quoted pattern."
        ),
    ] = None,
    y_pred: Annotated[
        str | None,
        Option(
            help="Column with the predictions: numbers or class labels. With --features module:attr of a"
            " fitted model."
        ),
    ] = None,
    groups: shared.Groups = [],  # noqa: B006 - typer copies it
    y_true: Annotated[str | None, Option(help="Column with the outcomes.")] = None,
    y_score: Annotated[str | None, Option(help="Column with a classifier's scores in [0, 1].")] = None,
    units: Annotated[
        str | None,
        Option(
            "--unit",
            help="Whom or what a row is about, where several rows may be about one: a column, e.g. of"
            " persons. Of nested units a path, family/person; false says that rows are independent.",
        ),
    ] = None,
    reference: Annotated[
        list[str] | None,
        Option(
            help="The group that the others are held against; the largest by default. GROUP, or"
            " COLUMN=GROUP; may be repeated."
        ),
    ] = None,
    measures: Annotated[
        list[str] | None,
        Option(
            help="default, notebook-2022, or names of claims to keep, e.g. disparate impact. May be repeated."
        ),
    ] = None,
    task: Annotated[
        str,
        Option(
            help="auto, regression, classification or ranking; auto takes text, booleans and 0/1 as class"
            " labels."
        ),
    ] = "auto",
    positive: Annotated[str | None, Option(help="The favourable class.")] = None,
    selection: Annotated[
        str,
        Option(
            help="Whether being selected (given the class, or a high prediction) is good or bad for people."
        ),
    ] = "good",
    intersections: Annotated[
        bool, Option("--intersections", help="Also compare the combinations of all groups.")
    ] = False,
    control: Annotated[
        list[str] | None,
        Option(
            help="Legitimate factors: every claim is repeated within each of their levels, and pooled over"
            " them. May be repeated."
        ),
    ] = None,
    period: Annotated[
        str | None,
        Option(help="Column that says when a row is of: a year, a date, or a name that sorts."),
    ] = None,
    continuous: Annotated[
        list[str] | None, Option(help="Sensitive attributes that are numbers, e.g. age. May be repeated.")
    ] = None,
    search: Annotated[
        list[str] | None,
        Option(
            help="Features over which the subgroup with the largest gap is searched, on one half of the rows,"
            " and confirmed on the other. May be repeated."
        ),
    ] = None,
    interval: Annotated[
        tuple[str, str] | None, Option(help="Columns with the lower and upper bound of prediction intervals.")
    ] = None,
    pinball: Annotated[
        float | None,
        Option(help="τ of a model that predicts the τ-quantile: adds the ratio of pinball losses."),
    ] = None,
    weight: shared.Weight = None,
    count: Annotated[
        str | None, Option(help="Column with how many people a row stands for, in a table of counts.")
    ] = None,
    lists: Annotated[
        str | None,
        Option(
            "--list", help="Column with the ranked list (query) of a row, which makes the task a ranking."
        ),
    ] = None,
    top: Annotated[
        int | None,
        Option(help="How many of each ranked list are taken: adds the ratio of the shares taken."),
    ] = None,
    first: Annotated[
        str,
        Option(
            help="Which predictions stand first in a list: highest (scores) or lowest (places, 1 being the"
            " first)."
        ),
    ] = "highest",
    published: Annotated[
        list[Path] | None,
        Option(
            help="Tables of a published audit instead of rows: a file with category, applicants, selected (or"
            " scored above the median), rate and impact ratio. May be repeated."
        ),
    ] = None,
    model: Annotated[
        str | None,
        Option(
            help='A fitted model instead of its predictions: a .skops or .onnx file, or "module:attr". It is'
            " asked again with the attribute of another group."
        ),
    ] = None,
    features: Annotated[
        list[str] | None,
        Option(
            help="Columns that a fitted model is asked with, where it does not name its own. May be repeated."
        ),
    ] = None,
    proxies: Annotated[
        list[str] | None,
        Option(
            "--proxy",
            help="Columns that stand for a group, and change with it where a model is asked again. May be"
            " repeated.",
        ),
    ] = None,
    trusted: Annotated[
        list[str] | None,
        Option(help="Further type names that a .skops file may contain. May be repeated."),
    ] = None,
    trust_pickle: Annotated[
        bool,
        Option(
            "--trust-pickle",
            help="Open a .pkl or .joblib file as the model, which runs whatever code it holds.",
        ),
    ] = False,
    probabilities: Annotated[
        list[str] | None,
        Option(
            "--probability",
            help="Chances of each group, where groups are known by chances only, e.g. of race by name and"
            " address. ATTRIBUTE:GROUP=COLUMN, e.g. race:white=p_white; repeated for every group, given"
            " instead of --group.",
        ),
    ] = None,
    missing: Annotated[
        str, Option(help="Rows without a group: drop (and count), error, or group (a group of their own).")
    ] = "drop",
    min_group: Annotated[
        int, Option(help="Rows below which a group is not compared; it is named, and counted among everyone.")
    ] = 1,
    quantiles: Annotated[
        list[float] | None,
        Option("--quantile", help="Selection thresholds, as quantiles of all predictions. May be repeated."),
    ] = None,
    tolerance: Annotated[
        list[str] | None,
        Option(
            help="Largest differences that count as even-handed, by measure. MEASURE=VALUE, e.g. 'disparate"
            " impact=0.8'; may be repeated."
        ),
    ] = None,
    law: Annotated[str | None, Option(help="Tables to add: ll144 or four-fifths.")] = None,
    suggest_threshold: Annotated[
        bool,
        Option(
            "--suggest-threshold",
            help="Add the group-blind thresholds that keep the impact ratio in its band, with their cost.",
        ),
    ] = False,
    frontier: Annotated[
        bool,
        Option(
            "--frontier",
            help="Add what other thresholds of the scores would give: one for all or one per group, chosen on"
            " one half of the rows and reported on the other, with what equal rates cost in accuracy.",
        ),
    ] = False,
    primary: shared.Primary = None,
    level: shared.Level = 0.95,
    correction: shared.Correction = "single-step",
    replicates: Annotated[
        int,
        Option(help="Bootstrap replicates of the regression table, as a check of the intervals; 0 for none."),
    ] = 0,
    seed: shared.Seed = 0,
    engine: shared.Engine = None,
    out: shared.Out = None,
) -> None:
    """Audit predictions that someone recorded: every measure by group, with interval, p-value and verdict."""
    chances = _probabilities(probabilities)
    settled: dict[str, Any] = {
        "reference": named_levels(reference, groups or list(chances)),
        "tolerance": tolerances(tolerance, "disparate impact=0.8") if tolerance else None,
        "probabilities": chances or None,
    }
    if published:
        settled["published"] = [str(path) for path in published]
    if units == "false":
        settled["units"] = False
    spec = call_of("predictions", locals(), **settled)
    if out is not None:
        check_writable(out)
    with progress_bar(None, "reading") as update:
        result = spec.call(progress=update)
    written = [] if out is None else write_tables(result, out)
    finish(result, out, spec, before=[*tables(result), *(f"Written: {file}" for file in written)])


def _probabilities(given: list[str] | None) -> dict[str, dict[str, str]]:
    """``["race:white=p_white"]`` as attribute → group → column."""
    found: dict[str, dict[str, str]] = {}
    for name, column in key_values(given, "--probability").items():
        attribute, colon, group = name.partition(":")
        if not (colon and attribute and group):
            raise UsageError(
                "probabilities",
                "a column of chances is named with its group",
                given=f"{name}={column}",
                expected="--probability ATTRIBUTE:GROUP=COLUMN, e.g. race:white=p_white",
            )
        found.setdefault(attribute, {})[group] = str(column)
    return found


PRINTED = (
    *("notebook-2022 ", "published ", "ll144 ", "four-fifths ", "suggested thresholds by "),
    *("worst subgroup over features", "thresholds by ", "cost of thresholds by ", "changes, "),
    *("attribute flips of ", "nearest neighbours of "),
)


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


def write_tables(result: Result, out: Path) -> list[Path]:
    """Each of these tables as a CSV file of its own in `out`, ready to publish."""
    import pyarrow as pa
    import pyarrow.csv as csv

    written = []
    for name, exhibit in result.exhibits.items():
        if name.startswith(PRINTED):
            out.mkdir(parents=True, exist_ok=True)
            plain = "".join(c if c.isalnum() else "-" for c in name.lower()).replace("---", "-")
            columns = {k: [neutral(x) for x in v] for k, v in exhibit.columns.items()}
            csv.write_csv(pa.table(columns), str(out / f"{plain}.csv"))
            written.append(out / f"{plain}.csv")
    return written
