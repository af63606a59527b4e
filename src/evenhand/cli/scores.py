"""`evenhand scores`: audit replies that were recorded elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evenhand._spec import Spec
from evenhand.cli.options import level_option, named_levels, out_option, tolerance_option
from evenhand.cli.output import perform


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "scores",
        epilog="Example: evenhand scores replies.csv --score toxicity --group race --unit template --unit name --out out/",
    )(scores)


def scores(
    file: Annotated[
        Path, typer.Argument(help="CSV, TSV, JSON lines, Parquet, Arrow, or Comprehend's output.tar.gz.")
    ],
    score: Annotated[list[str], typer.Option("--score", help="Column with scores; may be repeated.")],
    group: Annotated[list[str], typer.Option("--group", help="Column with groups; may be repeated.")],
    unit: Annotated[
        list[str] | None, typer.Option("--unit", help="What rows were sampled from: text, name; at most two.")
    ] = None,
    label: Annotated[str | None, typer.Option("--label", help="Column with true labels, 0/1.")] = None,
    strata: Annotated[
        str | None, typer.Option("--strata", help="Column that classes the base texts.")
    ] = None,
    weight: Annotated[str | None, typer.Option("--weight", help="Column with case weights.")] = None,
    reference: Annotated[
        list[str] | None,
        typer.Option("--reference", help="GROUP, or COLUMN=GROUP, that the others are held against."),
    ] = None,
    probes: Annotated[
        Path | None, typer.Option("--probes", help="The probes file that Comprehend's lines are joined to.")
    ] = None,
    threshold: Annotated[
        float | None, typer.Option("--threshold", help="Score from which a reply counts as positive.")
    ] = None,
    tolerance: tolerance_option = 0.1,
    level: level_option = 0.95,
    correction: Annotated[str, typer.Option("--correction", help="holm, bh or none.")] = "holm",
    seed: Annotated[int, typer.Option("--seed", help="Of placebo and resampling.")] = 0,
    out: out_option = None,
) -> None:
    """Audit a table of scores that some service gave earlier."""
    arguments = {
        "data": str(file),
        "scores": score,
        "groups": group,
        "units": unit or [],
        "labels": label,
        "strata": strata,
        "weight": weight,
        "reference": named_levels(reference, group),
        "probes": None if probes is None else str(probes),
        "threshold": threshold,
        "tolerance": tolerance,
        "level": level,
        "correction": correction,
        "seed": seed,
    }
    perform(Spec(kind="scores", arguments=arguments, out=None if out is None else str(out)))
