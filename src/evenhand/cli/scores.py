"""`evenhand scores`: audit replies that were recorded elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from evenhand._labels import attributes_of
from evenhand.cli import options as shared
from evenhand.cli.options import named_levels
from evenhand.cli.output import call_of, perform


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "scores",
        epilog="Example: evenhand scores replies.csv --score toxicity --group race --unit template --unit"
        " name --out out/",
    )(scores)


def scores(
    data: Annotated[
        Path,
        Argument(
            help="A file: CSV, TSV, JSON lines, Parquet, Arrow, or Amazon Comprehend's output"
            " (output.tar.gz, its JSON lines or flattened CSV). Also a folder of files, or a quoted pattern."
        ),
    ],
    scores: Annotated[
        list[str],
        Option(
            "--score",
            help="Columns with scores; the first carries the claims, each gets its own. May be repeated.",
        ),
    ],
    groups: Annotated[
        list[str],
        Option(
            "--group",
            help="Columns with the groups; each is a family of claims. race*gender also compares their"
            " intersections. May be repeated.",
        ),
    ],
    units: Annotated[
        list[str] | None,
        Option(
            "--unit",
            help="What the rows were sampled from: the text or template, the term or name, a rater."
            " Nested units are written family/text. May be repeated.",
        ),
    ] = None,
    labels: Annotated[
        str | None,
        Option("--label", help="Column with true labels (0/1), for AUCs within and across subgroups."),
    ] = None,
    strata: shared.Strata = None,
    weight: shared.Weight = None,
    reference: shared.Reference = None,
    probes: Annotated[Path | None, Option(help="Probes file that Comprehend's lines are joined to.")] = None,
    threshold: shared.Threshold = None,
    classes: shared.Classes = None,
    tolerance: shared.Tolerance = None,
    alternative: shared.Alternative = "two-sided",
    primary: shared.Primary = None,
    level: shared.Level = 0.95,
    correction: shared.Correction = "single-step",
    seed: shared.Seed = 0,
    engine: shared.Engine = None,
    out: shared.Out = None,
) -> None:
    """Audit a table of scores that some service gave earlier."""
    perform(call_of("scores", locals(), reference=named_levels(reference, list(attributes_of(groups)))))
